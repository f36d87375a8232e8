"""Valkey."""
