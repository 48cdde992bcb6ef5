"""From a path to records: files, folders, archives, stores, gzip, JSON in any state, containers, fields by name.

A record is a mapping; what a transcript inside it says is for the rooms above. No module here knows a format's
messages, tool calls or answers. A damaged line is reported with its place and reading goes on.
"""
