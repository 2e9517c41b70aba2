package sheet

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// part is a sheet of a workbook.
type part struct{ name, path string }

// workbook is what the cells of a sheet refer to.
type workbook struct {
	sheets  []part   // in their order
	strings texts    // shared between cells
	dates   []string // by style: layout of the time that a number is, "" of others
	epoch   time.Time
	bare    bool // texts are as they were written
	short   bool // only the beginning of a sheet is read
}

const (
	maxPart = 16 << 20 // bytes of the small parts of a workbook
	maxList = 4 << 20  // bytes of those which list its sheets
)

// room is how large a workbook may be.
type room struct {
	unpacked uint64 // bytes of all its parts
	strings  int64  // bytes of the part with the shared texts
	texts    int    // how many those are
	small    int64  // bytes of each of its small parts
	list     int64  // bytes of each part that lists its sheets
}

// A job reads tables. A book of a few sheets is read while a client waits: the
// largest takes less than a second. So is a glance at a table, whose sheet may
// be as large as a job's, because only its beginning is unpacked.
var (
	tableRoom  = room{MaxUnpacked, MaxStrings, MaxStrings / 16, maxPart, maxList} // more texts fit only when they are empty
	bookRoom   = room{64 << 20, 16 << 20, 200_000, maxPart, maxList}
	glanceRoom = room{MaxUnpacked, GlanceStrings, GlanceStrings / 16, 2 << 20, 1 << 20}
)

// texts are many texts in one piece of memory: most are a few bytes long.
type texts struct {
	all  []byte
	ends []uint32
}

func (t *texts) add(s string) {
	t.all = append(t.all, s...)
	t.ends = append(t.ends, uint32(len(t.all))) // at most room.strings
}

// get is the i-th text; false when there are fewer.
func (t *texts) get(i int64) (string, bool) {
	if i >= int64(len(t.ends)) {
		return "", false
	}
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return string(t.all[start:t.ends[i]]), true
}

func (b *workbook) read(z *zip.Reader, most room) error {
	if err := b.readBook(z, most); err != nil {
		return err
	}
	if err := b.readStyles(z, most); err != nil {
		return err
	}
	return b.readStrings(z, most)
}

// readBook finds the sheets.
func (b *workbook) readBook(z *zip.Reader, most room) error {
	var book struct {
		Properties struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var rels struct {
		Relationship []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := decodePart(z, "xl/workbook.xml", most.list, &book); err != nil {
		return err
	}
	if err := decodePart(z, "xl/_rels/workbook.xml.rels", most.list, &rels); err != nil {
		return err
	}
	// Spreadsheets have a day 60, the 29th of February 1900, which did not
	// exist; earlier days are off by one, and nobody has data from then.
	b.epoch = dayZero()
	if d := book.Properties.Date1904; d == "1" || d == "true" {
		b.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if len(book.Sheets) == 0 {
		return broken("The workbook has no sheet.")
	}
	if len(book.Sheets) > maxParts {
		return broken("The workbook has too many sheets.")
	}
	targets := make(map[string]string, len(rels.Relationship))
	for _, r := range rels.Relationship {
		if _, twice := targets[r.ID]; twice {
			continue
		}
		if strings.HasPrefix(r.Target, "/") {
			targets[r.ID] = path.Clean(r.Target)[1:]
		} else {
			targets[r.ID] = path.Join("xl", r.Target)
		}
	}
	for _, s := range book.Sheets {
		b.sheets = append(b.sheets, part{name: s.Name, path: targets[s.ID]})
	}
	return nil
}

func decodePart(z *zip.Reader, name string, limit int64, v any) error {
	f, err := openPart(z, name, limit)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := newDecoder(f).Decode(v); err != nil {
		return blame(err, "The workbook is damaged.")
	}
	return nil
}

// readStyles learns which styles show a number as a date.
func (b *workbook) readStyles(z *zip.Reader, most room) error {
	var styles struct {
		Formats []struct {
			ID   string `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format string `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	err := decodePart(z, "xl/styles.xml", most.small, &styles)
	if errors.Is(err, errNoPart) {
		return nil
	} else if err != nil {
		return err
	}
	custom := map[string]string{}
	for _, f := range styles.Formats {
		custom[f.ID] = ""
		if isDateFormat(f.Code) {
			custom[f.ID] = layoutOf(f.Code)
		}
	}
	for _, c := range styles.Cells {
		n, _ := digits(c.Format)
		builtIn := n >= 14 && n <= 22 || n >= 27 && n <= 36 || n >= 45 && n <= 47 || n >= 50 && n <= 58
		layout, known := custom[c.Format]
		if !known && builtIn {
			layout = time.RFC3339Nano
		}
		b.dates = append(b.dates, layout)
	}
	return nil
}

// isDateFormat reports whether the code of a number format shows a date: it has
// a letter of one outside quotes and brackets.
func isDateFormat(code string) bool {
	code, _, _ = strings.Cut(code, ";")
	quoted, bracket := false, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\\' || c == '_' || c == '*':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case bracket:
		case strings.IndexByte("ymdhYMDH", c) >= 0:
			return true
		}
	}
	return false
}

// readStrings reads the texts that cells share.
func (b *workbook) readStrings(z *zip.Reader, most room) error {
	f, err := openPart(z, "xl/sharedStrings.xml", most.strings)
	if errors.Is(err, errNoPart) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	dec := newDecoder(f)
	for {
		t, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return blame(err, "The texts of the workbook are damaged.")
		}
		if s, ok := t.(xml.StartElement); ok && s.Name.Local == "si" {
			text, err := sharedText(dec)
			if err != nil {
				return err
			}
			if len(b.strings.ends) == most.texts {
				return most.exceeded()
			}
			b.strings.add(text)
		}
	}
}

// sharedText reads one text: its runs, without how they are spoken.
func sharedText(dec *xml.Decoder) (string, error) {
	var b strings.Builder
	var where []string
	for {
		t, err := dec.Token()
		if err != nil {
			return "", blame(err, "The texts of the workbook are damaged.")
		}
		switch e := t.(type) {
		case xml.StartElement:
			if e.Name.Local == "rPh" {
				if err := dec.Skip(); err != nil {
					return "", blame(err, "The texts of the workbook are damaged.")
				}
				continue
			}
			where = append(where, e.Name.Local)
		case xml.EndElement:
			if len(where) == 0 {
				return unescapeControls(b.String()), nil
			}
			where = where[:len(where)-1]
		case xml.CharData:
			if len(where) > 0 && where[len(where)-1] == "t" {
				if b.Len()+len(e) > MaxLine {
					return "", tooLong(0)
				}
				b.Write(e)
			}
		}
	}
}

// cell makes a cell from the sheet's data; false when it refers to a text the
// workbook does not have.
func (b *workbook) cell(typ, style, value, inline string) (cell, bool) {
	switch typ {
	case "s":
		n, ok := digits(value)
		if !ok {
			return cell{}, false
		}
		text, ok := b.strings.get(n)
		return b.text(text), ok
	case "inlineStr":
		return b.text(unescapeControls(inline)), true
	case "str":
		return b.text(unescapeControls(value)), true
	case "b":
		return cell{text: strconv.FormatBool(value == "1" || value == "true"), truth: true}, true
	case "e":
		return cell{text: value, bad: "The cell shows an error."}, true
	case "d":
		return cell{text: value}, true
	}
	n, _ := digits(style)
	if value == "" || n >= int64(len(b.dates)) || b.dates[n] == "" {
		return cell{text: value, number: value != ""}, true
	}
	return b.date(value, b.dates[n]), true
}

func (b *workbook) text(s string) cell {
	if b.bare {
		return cell{text: s}
	}
	text := unguard(s)
	return cell{text: text, guarded: len(text) < len(s)}
}

// date turns the days of a spreadsheet into a time, to the millisecond.
func (b *workbook) date(value, layout string) cell {
	days, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(days) || days < 0 || days > 2_958_466 { // the year 10000
		return cell{text: value, bad: "The cell is shown as a date and is none."}
	}
	whole, part := math.Modf(days)
	t := b.epoch.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*day)) * time.Millisecond)
	return cell{text: t.Format(layout), date: layout == time.RFC3339Nano}
}
