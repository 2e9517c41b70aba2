package sheet

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const stylesRel = `<Relationship Id="rId%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/>`

// timeStyle is how a time is written in a text, and how a spreadsheet shows it:
// alike, so that the cell can be sorted and computed with and reads back as the
// text it was made from. A time with an offset has no style, because a
// spreadsheet would lose the offset.
type timeStyle struct{ layout, code string }

// timeStyles returns the styles of cells. Their index is the style's number;
// that of all other cells comes first.
func timeStyles() []timeStyle {
	return []timeStyle{
		{},
		{time.DateOnly, `yyyy\-mm\-dd`},
		{"2006-01-02T15:04:05Z", `yyyy\-mm\-dd"T"hh:mm:ss"Z"`},
		{"2006-01-02T15:04:05.000Z", `yyyy\-mm\-dd"T"hh:mm:ss.000"Z"`},
	}
}

// firstFormat is the lowest number of a format that a workbook may define.
const firstFormat = 164

// stylesXML is the part of a workbook that says how cells are shown.
func stylesXML() string {
	var formats, cells strings.Builder
	styles := timeStyles()
	for i, s := range styles {
		if s.code == "" {
			cells.WriteString(`<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>`)
			continue
		}
		fmt.Fprintf(&formats, `<numFmt numFmtId="%d" formatCode="`, firstFormat+i)
		_ = xml.EscapeText(&formats, []byte(s.code)) // a builder takes all
		formats.WriteString(`"/>`)
		fmt.Fprintf(&cells, `<xf numFmtId="%d" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`, firstFormat+i)
	}
	return fmt.Sprintf(`<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts count="%d">%s</numFmts>`+
		`<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>`+
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>`+
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>`+
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>`+
		`<cellXfs count="%d">%s</cellXfs></styleSheet>`, len(styles)-1, formats.String(), len(styles), cells.String())
}

// Days of spreadsheets are counted from dayZero. They are certain from
// firstDay on: before it comes a day that never was.
func dayZero() time.Time  { return time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC) }
func firstDay() time.Time { return time.Date(1900, 3, 1, 0, 0, 0, 0, time.UTC) }

// timeCell converts a time to a spreadsheet's count of days, with its style;
// style 0 when the text is not a time, or would be read back differently.
func timeCell(text []byte) (days string, style int) {
	const shortest, longest = len("2006-01-02"), len("2006-01-02T15:04:05.000Z")
	if len(text) < shortest || len(text) > longest || text[4] != '-' || text[7] != '-' {
		return "", 0
	}
	for i, s := range timeStyles() {
		if len(s.layout) != len(text) {
			continue
		}
		t, err := time.Parse(s.layout, string(text))
		if err != nil || t.Before(firstDay()) || t.Format(s.layout) != string(text) {
			return "", 0
		}
		ms := t.UnixMilli() - dayZero().UnixMilli() // a Duration ends in the year 2191
		if ms%day == 0 {
			return strconv.FormatInt(ms/day, 10), i
		}
		return strconv.FormatFloat(float64(ms)/day, 'f', -1, 64), i
	}
	return "", 0
}

const day = 86_400_000 // milliseconds

// layoutOf is how a time is read from a cell with a format that shows a date.
func layoutOf(code string) string {
	for _, s := range timeStyles() {
		if s.code == code {
			return s.layout
		}
	}
	return time.RFC3339Nano
}
