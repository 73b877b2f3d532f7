"""Brings what somebody should know of a run to where they look: a chat, a mailbox, a telephone."""
