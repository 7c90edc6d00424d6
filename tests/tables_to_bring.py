"""Files that people bring to the studio: good ones, and every kind of bad one."""

import io
import zipfile
from xml.sax.saxutils import escape

SHEET = '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
WORKBOOK = (
    '<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
    '<sheet name="Visits" sheetId="1" r:id="rId1"/></sheets></workbook>'
)
RELATIONS = '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CONTENT = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)

LOG = b"patient,treatment,recovered\n" + b"".join(
    b"P%d,%s,%d\n" % (patient, arm, (patient + visit) % 3 != 0)
    for patient in range(40)
    for visit, arm in enumerate([b"A", b"B"] * 3)
)
RATES = b"kind,A,B,share\nmild,0.9,20%,0.7\nsevere,0.2,0.8,0.3\n"


def workbook(rows, sheet=None, **more):
    """An Excel workbook with these rows on its first sheet; more: other parts by name."""
    cells = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    parts = {
        "[Content_Types].xml": CONTENT,
        "_rels/.rels": f'{RELATIONS}<Relationship Id="rId1" Type="{OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": WORKBOOK,
        "xl/_rels/workbook.xml.rels": f'{RELATIONS}<Relationship Id="rId1" Type="{OFFICE}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": sheet or f"{SHEET}{cells}</sheetData></worksheet>",
        **more,
    }
    return zipped(parts)


def workbook_of(sheets):
    """An Excel workbook with these sheets, each a list of rows."""
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(sheets, 1))
    relations = "".join(
        f'<Relationship Id="rId{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    parts = {
        "xl/workbook.xml": WORKBOOK.partition("<sheet ")[0] + names + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"{RELATIONS}{relations}</Relationships>",
    }
    for n, rows in enumerate(sheets.values(), 1):
        cells = "".join(f'<row r="{r}">{"".join(map(_cell, row))}</row>' for r, row in enumerate(rows, 1))
        parts[f"xl/worksheets/sheet{n}.xml"] = f"{SHEET}{cells}</sheetData></worksheet>"
    return workbook([], **parts)


def _cell(value):
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def zipped(parts):
    """An archive of some parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def bomb(megabytes):
    """A small workbook whose sheet unpacks to much more."""
    return workbook([], sheet=SHEET + " " * (megabytes * 1_000_000) + "</sheetData></worksheet>")


BAD = {  # a file and a part of the sentence that it is refused with
    "nothing": (b"", "The file is empty"),
    "only a header": (b"patient,treatment,recovered\n", "a header and no rows"),
    "no header": (b"1,2,3\n4,5,6\n", "The first row must be a header"),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "This is not a table"),
    "no text": ("patient,größe\n1,2\n".encode("latin-1") + b"\x81", "not text that can be read"),
    "a renamed PDF": (b"%PDF-1.7\n1 0 obj", "This is a PDF, whatever its name says"),
    "a formula without its value": (
        workbook([], sheet=f'{SHEET}<row><c r="B2"><f>A1+1</f></c></row></sheetData></worksheet>'),
        "a formula without its value in cell B2",
    ),
    "a column twice": (b"patient,arm,arm\n1,2,3\n", "a name of its own"),
    "a column without a name": (b"patient,,arm\n1,2,3\n", "Column 2 has none"),
    "rows of other lengths": (b"patient,arm\n1,2\n1,2,3\n", "Row 3 has 3 cells, and the header 2"),
    "a formula": (b'patient,arm,reward\n1,"=HYPERLINK(""http://x"")",1\n', "Row 2 has a formula"),
    "a formula with a sign": (b"patient,arm,reward\n1,+cmd|' /C calc'!A0,1\n", "has a formula"),
    "a formula in the header": (b"patient,@SUM(A1),reward\n1,2,1\n", "has a formula"),
    "old Excel": (b"\xd0\xcf\x11\xe0" + b"\x00" * 100, "an old Excel workbook"),
    "Excel with macros": (workbook([["a"], [1]], **{"xl/vbaProject.bin": "x"}), "has macros"),
    "an archive": (zipped({"visits.csv": "a,b\n1,2\n"}), "is an archive and no Excel workbook"),
    "half an archive": (workbook([["a"], [1]])[:300], "cannot be unpacked"),
    "a broken workbook": (workbook([], sheet="<worksheet><sheetData><row><c"), "The workbook cannot be read"),
    "broken Parquet": (b"PAR1" + b"\x00" * 50 + b"PAR1", "not a Parquet file that can be read"),
}
