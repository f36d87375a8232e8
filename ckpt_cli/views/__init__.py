"""The data that commands return, one module for each verb. Fields are the JSON contract: none is removed."""
