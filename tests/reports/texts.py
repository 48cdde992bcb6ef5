"""Reports on one bridge, written for these tests: they agree, differ in one year, and lack what others have."""

from pathlib import Path

PROMPT = "Write a report on the Kessel bridge."
FULL = """# The Kessel bridge

The Kessel bridge crosses the Orn near Vessen [1]. It was opened on **12 May 1949** by mayor Ida Brandt, and it cost \
4.2 million crowns. Its main span is 212 metres long, which made it the longest arch in the country. A museum in the \
old toll house shows models of the bridge and letters of its engineers. Ferries stopped within a month of the opening.

## References
[1] Orn crossings https://example.org/orn
"""
SECOND = """The bridge at Kessel was opened in 1949 by the mayor, Ida Brandt. The main span of 212 metres was the \
longest arch of the country until 1963. About 9,000 vehicles cross it each day. It was closed for repairs for two \
years in 1987, when the deck was replaced."""
THIRD = """Opened in May 1942 by mayor Ida Brandt, the Kessel bridge crosses the Orn near Vessen. It carries about \
9,000 vehicles each day. The bridge cost 4.2 million crowns. It was closed for repairs for two years in 1987."""
NARRATING = "Let me now search for more information about the bridge. I will open the second result."
OFF_TOPIC = """Sourdough bread needs a starter of flour and water. Bakers feed it twice a day until bubbles rise. The \
dough rests overnight in a cool cellar, is shaped in the morning, scored with a razor, and baked in a hot iron pot \
with a lid. Rye starters ferment faster than wheat ones, because rye has more enzymes and minerals. Salt slows them."""

EIGHT = Path(__file__).parents[2] / "docs" / "guides" / "kessel_reports.jsonl"
"""The reports of the guide: one contested year, and one each that refuses, narrates, strays and breaks off."""
