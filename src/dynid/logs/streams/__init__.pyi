# What this part offers to others; names are imported when they are first asked for.
from .followed_file import FollowedFile
from .inbox import Counts, Inbox
from .line_form import LineForm, line_form
from .packets import PacketReader
from .recorder import Recorder
from .replayed_log import ReplayedLog
from .samples import MalformedSampleError, Sample, SampleForm
from .udp_packets import Address, UdpPackets

__all__ = [
    "Address",
    "Counts",
    "FollowedFile",
    "Inbox",
    "LineForm",
    "MalformedSampleError",
    "PacketReader",
    "Recorder",
    "ReplayedLog",
    "Sample",
    "SampleForm",
    "UdpPackets",
    "line_form",
]
