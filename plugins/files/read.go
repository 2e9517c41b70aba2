package files

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	usualLines = 200
	maxPart    = 24 << 10 // bytes of one answer
)

// listed is a file that was attached.
type listed struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Lines int    `json:"lines"` // that can be read
	Note  string `json:"note,omitempty"`
}

// What the tools that read give.
const (
	listSchema = `{"type":"object","required":["attached","made"],"properties":{"attached":{"type":"array","items":{"type":"object","required":["name","lines"],"properties":{` +
		`"name":{"type":"string"},"type":{"type":"string"},"bytes":{"type":"integer"},"lines":{"type":"integer","description":"That can be read."},"note":{"type":"string"}}}},` +
		`"made":{"type":"array","items":{"type":"object"}}}}`
	partSchema = `{"type":"object","required":["name","line","text","lines"],"properties":{"name":{"type":"string"},"line":{"type":"integer"},"text":{"type":"string"},` +
		`"lines":{"type":"integer","description":"Of the whole file."},"next":{"type":"integer","description":"The line to read on from."},"note":{"type":"string"}}}`
)

func (p *Plugin) list(ctx context.Context, call plugin.Call) (any, error) {
	attached, err := p.files(ctx, call)
	if err != nil {
		return nil, err
	}
	made, err := p.made(ctx)
	out := struct {
		Attached []listed       `json:"attached"`
		Made     []api.MadeFile `json:"made"`
	}{[]listed{}, made}
	for _, a := range attached[:min(len(attached), 50)] {
		out.Attached = append(out.Attached, listed{Name: a.Name, Type: a.Type, Bytes: a.Size, Lines: len(lines(a.Text)), Note: a.Note})
	}
	return out, err
}

// files returns the files of the conversation; a call from outside one has none.
func (p *Plugin) files(ctx context.Context, call plugin.Call) ([]plugin.Attachment, error) {
	if p.attached == nil || call.SessionID == "" {
		return nil, nil
	}
	return p.attached(ctx)
}

// part is the part of a file that was read.
type part struct {
	Name  string `json:"name"`
	Line  int    `json:"line"`
	Text  string `json:"text"`
	Lines int    `json:"lines"` // of the whole file, as far as it was read
	Next  int    `json:"next,omitempty"`
	Note  string `json:"note,omitempty"`
}

func (p *Plugin) read(ctx context.Context, call plugin.Call) (any, error) {
	in := struct {
		Name  string `json:"name"`
		Line  int    `json:"line"`
		Lines int    `json:"lines"`
	}{Line: 1, Lines: usualLines}
	if err := call.Read(&in); err != nil {
		return nil, err
	}
	attached, err := p.files(ctx, call)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(attached, func(a plugin.Attachment) bool { return a.Name == in.Name })
	if at < 0 {
		return nil, plugin.Invalid("name: no file of this name is attached to the conversation")
	}
	a := attached[at]
	if a.Text == "" {
		return nil, plugin.Invalid("The file has no text that can be read: %s", a.Note)
	}
	all := lines(a.Text)
	if in.Line > len(all) {
		return nil, plugin.Invalid("line: the file has %s lines that can be read", strconv.Itoa(len(all)))
	}
	out := part{Name: a.Name, Line: in.Line, Lines: len(all), Note: a.Note}
	var b strings.Builder
	for i := in.Line - 1; i < len(all); i++ {
		if i == in.Line-1+in.Lines || b.Len()+len(all[i]) > maxPart && b.Len() > 0 {
			out.Next = i + 1
			break
		}
		b.WriteString(all[i] + "\n")
	}
	out.Text = b.String()
	return out, nil
}

// lines are the lines of a text. JSON in one line is set in several, and a line that
// is too long for an answer is divided.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	if !strings.Contains(text, "\n") && json.Valid([]byte(text)) {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			if set, err := json.MarshalIndent(v, "", " "); err == nil {
				text = string(set)
			}
		}
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		for len(line) > maxPart {
			cut := strings.ToValidUTF8(line[:maxPart], "")
			out, line = append(out, cut), line[len(cut):]
		}
		out = append(out, line)
	}
	return out
}

// harmless is a table whose cells no program takes for formulas.
func harmless(text string) (string, error) {
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord, in.LazyQuotes = -1, true
	rows, err := in.ReadAll()
	if err != nil {
		return "", plugin.Invalid("text: it is not valid CSV: %s", err)
	}
	for _, row := range rows {
		for i, cell := range row {
			if _, err := strconv.ParseFloat(cell, 64); err != nil && cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				row[i] = "'" + cell
			}
		}
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	if err := w.WriteAll(rows); err != nil {
		return "", err
	}
	return b.String(), nil
}
