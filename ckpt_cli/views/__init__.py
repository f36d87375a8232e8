"""The data that commands return, one module for each verb. Fields are the JSON contract: new ones come, none goes."""
