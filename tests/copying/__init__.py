"""Tests of copying threads between databases."""
