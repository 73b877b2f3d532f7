"""What a server does, whoever asks and however: its services, whose runs they are, keeping, checking, removing."""
