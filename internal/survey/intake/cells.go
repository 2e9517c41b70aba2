package intake

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// table is the table of a repeat. Its rows are in the order of the responses.
type table struct {
	name string
	read func() (raw, error)
	head *entry // read already
	end  bool
}

// entry is a row of it.
type entry struct {
	response, parent, index string
	table                   string
	cells                   *form.Cells
}

// cells reads an object: a row of a table, or of JSON. h receives what it says
// about the response in other columns.
func (in *input) cells(text jsontext.Value) (*form.Cells, head, error) {
	var c fault.Checks
	h := head{}
	out := in.object(text, "", h, &c)
	return out, h, c.Err(invalid, "The row has an unknown column.")
}

// object takes an object apart. prefix is what stands before the names inside
// it.
func (in *input) object(text jsontext.Value, prefix string, h head, c *fault.Checks) *form.Cells {
	out := &form.Cells{Values: map[string]string{}, Plain: in.p.Source != Hearth}
	in.members(text, prefix, out, h, c)
	return out
}

func (in *input) members(text jsontext.Value, prefix string, out *form.Cells, h head, c *fault.Checks) {
	var all map[string]jsontext.Value
	if json.Unmarshal(text, &all) != nil {
		c.Add("", "wrong_type", "The row must be an object.")
		return
	}
	for name, v := range all {
		full := prefix + name
		switch v.Kind() {
		case 'n':
		case '{':
			if point, ok := pointOf(v); ok {
				in.put(full, point, out, h, c)
				continue
			}
			// XML does not distinguish one entry of a repeat from a group.
			if m := in.meaning(full); m.code == "" && m.question.Repeat {
				in.list(full, jsontext.Value("["+string(v)+"]"), out, h, c)
				continue
			}
			in.members(v, full+"-", out, h, c)
		case '[':
			in.list(full, v, out, h, c)
		case '"':
			var s string
			if json.Unmarshal(v, &s) == nil {
				in.put(full, s, out, h, c)
			}
		default:
			in.put(full, string(v), out, h, c)
		}
	}
}

// meaning finds out what a column is. If it could be several questions, it is
// the one of the repeat that is read.
func (in *input) meaning(name string) meaning {
	m := in.names.of(name)
	if m.code == "ambiguous_column" && in.within != "" {
		if own := in.names.of(in.within + between[0] + name); own.code == "" && own.column != "" {
			return own
		}
	}
	return m
}

// enter goes to the columns of a repeat, until the answer is called.
func (in *input) enter(repeat form.Place) func() {
	before := in.within
	in.within = strings.Join(repeat.Path, between[0])
	return func() { in.within = before }
}

// put gives a value its column.
func (in *input) put(name, value string, out *form.Cells, h head, c *fault.Checks) {
	if value == "" {
		return
	}
	m := in.meaning(name)
	if m.heads != "" {
		h[m.heads] = value
	}
	switch {
	case m.code != "":
		c.Add(name, m.code, detail(m.code))
	case m.column != "":
		if m.question.Media && in.p.Source != Hearth {
			value = "file:" + value
		}
		out.Values[m.column] = value
	}
}

// list takes the entries of a repeat, or several choices, of JSON.
func (in *input) list(name string, v jsontext.Value, out *form.Cells, h head, c *fault.Checks) {
	m := in.meaning(name)
	if m.code != "" {
		c.Add(name, m.code, detail(m.code))
		return
	}
	if m.column == "" {
		return
	}
	var all []jsontext.Value
	if json.Unmarshal(v, &all) != nil {
		return
	}
	if !m.question.Repeat {
		var words []string
		for _, e := range all {
			var s string
			if json.Unmarshal(e, &s) == nil {
				words = append(words, s)
			}
		}
		out.Values[m.column] = strings.Join(words, form.CellSeparator)
		return
	}
	if in.entries += len(all); in.entries > maxEntries {
		c.Add(name, "too_many_rows", fmt.Sprintf("A response has at most %d entries of repeats.", maxEntries))
		return
	}
	list := []*form.Cells{}
	defer in.enter(m.question)()
	for _, e := range all {
		list = append(list, in.object(e, "", head{}, c))
	}
	add(out, m.column, list...)
}

func add(to *form.Cells, table string, entries ...*form.Cells) {
	if to.Entries == nil {
		to.Entries = map[string][]*form.Cells{}
	}
	to.Entries[table] = append(to.Entries[table], entries...)
}

// pointOf is a GeoJSON point in one text: latitude, longitude, altitude,
// accuracy.
func pointOf(v jsontext.Value) (string, bool) {
	var p struct {
		Type        string    `json:"type"`
		Coordinates []float64 `json:"coordinates"`
		Properties  struct {
			Accuracy *float64 `json:"accuracy"`
		} `json:"properties"`
	}
	if json.Unmarshal(v, &p) != nil || p.Type != "Point" || len(p.Coordinates) < 2 {
		return "", false
	}
	format := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	out := format(p.Coordinates[1]) + " " + format(p.Coordinates[0])
	if len(p.Coordinates) > 2 {
		out += " " + format(p.Coordinates[2])
		if p.Properties.Accuracy != nil {
			out += " " + format(*p.Properties.Accuracy)
		}
	}
	return out, true
}

// join adds the entries of the tables of repeats to the response they are of.
func (in *input) join(to *form.Cells, h head) error {
	if len(in.tables) == 0 {
		return nil
	}
	id := cmp.Or(h["responseId"], to.Values["responseId"])
	if in.p.Source == Kobo && in.book {
		id = h["uuid"]
	}
	var all []*entry
	for _, t := range in.tables {
		for {
			e, err := in.peek(t)
			if err != nil {
				return err
			}
			if e == nil || e.response != id {
				break
			}
			if all = append(all, e); len(all) > maxEntries {
				return &sheet.Error{Code: "too_many_rows", Detail: fmt.Sprintf("A response has at most %d entries of repeats.", maxEntries)}
			}
			t.head = nil
		}
	}
	// Those around others come first.
	slices.SortStableFunc(all, func(a, b *entry) int { return depth(a.index) - depth(b.index) })
	by := map[string]*form.Cells{"": to}
	for _, e := range all {
		parent := by[e.parent]
		if parent == nil {
			return &sheet.Error{Column: e.table, Code: "no_parent", Detail: "An entry of a repeat is inside one that is not there."}
		}
		by[e.index] = e.cells
		add(parent, e.table, e.cells)
	}
	return nil
}

func depth(index string) int { return strings.Count(index, ".") + strings.Count(index, "/") }

// peek is the next row of a table; nil at its end.
func (in *input) peek(t *table) (*entry, error) {
	if t.head != nil || t.end {
		return t.head, nil
	}
	r, err := t.read()
	if errors.Is(err, io.EOF) {
		t.end = true
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if len(r.wrong) > 0 {
		return nil, r.wrong[0]
	}
	t.head, err = in.entry(t, r)
	return t.head, err
}

// entry reads a row of the table of a repeat.
func (in *input) entry(t *table, r raw) (*entry, error) {
	var keys struct {
		Response string `json:"responseId"`
		Parent   string `json:"parentIndex"`
		Index    string `json:"index"`
		Key      string `json:"KEY"`
		Around   string `json:"PARENT_KEY"`
		Number   string `json:"_index"`
		Table    string `json:"_parent_table_name"`
		Within   string `json:"_parent_index"`
		UUID     string `json:"_submission__uuid"`
	}
	if err := json.Unmarshal(r.text, &keys); err != nil {
		return nil, &sheet.Error{Line: r.line, Column: t.name, Code: "wrong_type", Detail: "The row cannot be read."}
	}
	e := &entry{response: keys.Response, parent: keys.Parent, index: keys.Index, table: t.name}
	switch {
	case in.p.Source == Kobo && in.book:
		e.response, e.index = keys.UUID, t.name+"#"+keys.Number
		if m := in.names.of(keys.Table); m.question.Repeat {
			e.parent = m.column + "#" + keys.Within
		}
	case in.p.Source != Hearth:
		// uuid:…/children[2]/toys[1]
		e.index, e.parent = keys.Key, keys.Around
		e.response, _, _ = strings.Cut(keys.Key, "/")
		last := keys.Key[strings.LastIndexByte(keys.Key, '/')+1:]
		name, _, _ := strings.Cut(last, "[")
		m := in.names.of(name)
		if !m.question.Repeat {
			return nil, &sheet.Error{Line: r.line, Column: t.name, Code: "unknown_table", Detail: "The survey has no repeat for this table."}
		}
		if e.table = m.column; e.parent == e.response {
			e.parent = ""
		}
		defer in.enter(m.question)()
	}
	var all map[string]jsontext.Value
	if err := json.Unmarshal(r.text, &all); err != nil {
		return nil, fmt.Errorf("read row: %w", err)
	}
	for _, name := range []string{"responseId", "parentIndex", "index", "KEY", "PARENT_KEY"} {
		delete(all, name)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("read row: %w", err)
	}
	var c fault.Checks
	e.cells = in.object(text, "", head{}, &c)
	if f := fault.As(c.Err(invalid, "The table has an unknown column.")); f != nil {
		return nil, &sheet.Error{Line: r.line, Column: f.Fields[0].Pointer, Code: f.Fields[0].Code, Detail: "In the table " + t.name + ": " + f.Fields[0].Detail}
	}
	return e, nil
}

// leftover finds rows of repeats that no response came for.
func (in *input) leftover() error {
	for _, t := range in.tables {
		e, err := in.peek(t)
		if err != nil {
			return exchange.FileFault(err)
		}
		if e != nil {
			return exchange.FileFault(&sheet.Error{Column: t.name, Code: "out_of_order", Detail: "The table " + t.name + " has rows of a response that is not in the table of responses, or not in its order."})
		}
	}
	return nil
}

// foreign fills in what a file of another program says in other words.
func (in *input) foreign(c *form.Cells, h head, notes *[]fault.Field) {
	set := func(column, value string) {
		if c.Values[column] == "" && value != "" {
			c.Values[column] = value
		}
	}
	id := h["responseId"]
	if id == "" && h["uuid"] != "" {
		id = "uuid:" + strings.TrimPrefix(h["uuid"], "uuid:")
	}
	set("responseId", id)
	set("startedAt", h["startedAt"])
	set("timestamp", cmp.Or(h["timestamp"], h["received"]))
	set("deviceId", h["deviceId"])
	if !in.told {
		set("collector", in.p.Collectors[h["sender"]])
	}
	set("householdId", in.household(c))
	if h["review"] != "" {
		*notes = append(*notes, foreignVerdict("ReviewState"))
	}
}

// household is what the household of a row is called, where the import says how:
// a text with a column in braces. What a DID cannot have is escaped.
func (in *input) household(c *form.Cells) string {
	before, rest, ok := strings.Cut(in.p.Household, "{")
	column, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return ""
	}
	value := c.Values["responseId"]
	if column != instanceColumn {
		value = c.Values[in.names.of(column).column]
	}
	if value = strings.TrimSpace(value); value == "" || before == "" && after == "" {
		return value
	}
	return before + strings.NewReplacer("+", "%20", "%2F", "/", "%3A", ":").Replace(url.QueryEscape(value)) + after
}

// instanceColumn stands in a household for the id of the response.
const instanceColumn = "instanceID"
