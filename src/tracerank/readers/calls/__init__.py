"""From tool calls to a rollout: which call is a search, what its return lists, which page belongs to which search.

Every chat-like format comes down to a `Dialogue` of calls, a question and last words; what that is worth is settled
here once for all of them. Tables of tool names and of text layouts live here. No module knows a format's records.
"""
