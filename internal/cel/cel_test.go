package cel_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// row is a record whose members are in a slice.
type row []cel.Value

func (r row) Member(i int) cel.Value {
	if i < len(r) && r[i] != nil {
		return r[i]
	}
	return cel.Null
}

func (r row) Answered() bool { return len(r) > 0 }

// world is an environment with one section of every type.
type world struct {
	env     *cel.Env
	section *cel.Shape
	device  *cel.Shape
	geo     *cel.Shape
	vars    vars
}

type vars map[string]cel.Value

func (v vars) ResolveName(name string) (any, bool) { x, ok := v[name]; return x, ok }
func (v vars) Parent() cel.Vars                    { return nil }

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{section: cel.NewShape("s"), device: cel.NewShape("s.devices"), geo: cel.NewShape("geo")}
	w.device.Add("type", cel.Text)
	w.device.Add("hours", cel.Number)
	w.geo.Add("lat", cel.Number)
	for _, f := range []cel.Field{
		{"size", cel.Number},
		{"name", cel.Text},
		{"member", cel.Boolean},
		{"fuels", cel.Texts},
		{"since", cel.Instant},
		{"place", cel.RecordOf(w.geo)},
		{"devices", cel.ListOf(w.device)},
		{"none", cel.Number},
		{"calc", cel.Any},
		{"nolist", cel.Texts},
	} {
		w.section.Add(f.Name, f.Type)
	}
	var err error
	w.env, err = cel.NewEnv([]*cel.Shape{w.section, w.device, w.geo},
		[]cel.Variable{{"@s", cel.RecordOf(w.section)}, {"@today", cel.Instant}, {"@attr", cel.Any}, {"@i", cel.Whole}})
	if err != nil {
		t.Fatal(err)
	}
	device := func(kind string, hours float64) cel.Value {
		return &cel.Record{Shape: w.device, Members: row{cel.TextValue(kind), cel.NumberValue(hours)}}
	}
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	w.vars = vars{
		"@s": &cel.Record{Shape: w.section, Members: row{
			cel.NumberValue(5), cel.TextValue("Amina"), cel.BooleanValue(true), cel.TextsValue([]string{"wood", "lpg"}), cel.InstantValue(day),
			&cel.Record{Shape: w.geo, Members: row{cel.NumberValue(-1.5)}}, cel.ListValue([]cel.Value{device("mud", 2), device("lpg", 3.5)}), nil, cel.NumberValue(2),
		}},
		"@today": cel.InstantValue(day.AddDate(0, 0, 10)),
		"@attr":  cel.Bag{"village": "Kibera", "rooms": 3, "tags": []any{"a"}},
		"@i":     cel.WholeValue(1),
	}
	return w
}

func (w *world) names(name string) (cel.Ref, error) {
	switch name {
	case "section":
		return cel.Ref{Var: "@s"}, nil
	case "today":
		return cel.Ref{Var: "@today"}, nil
	case "attributes":
		return cel.Ref{Var: "@attr"}, nil
	case "index":
		return cel.Ref{Var: "@i"}, nil
	}
	for _, f := range w.section.Fields() {
		if f.Name == name {
			return cel.Ref{Var: "@s", Path: []string{name}}, nil
		}
	}
	return cel.Ref{}, errors.New("no question is called " + name)
}

func TestHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct {
		source string
		want   bool
	}{
		{`size == 5`, true},
		{`5 == size`, true},
		{`size != 5`, false},
		{`size + 1 == 6`, true},
		{`1 + size > 5.5`, true},
		{`size / 2 == 2.5`, true},
		{`size % 2 == 1`, true},
		{`10 - size * 2 == 0`, true},
		{`size in [1, 5]`, true},
		{`size in [1.5, 2.5]`, false},
		{`name in ["Amina", "Juma"]`, true},
		{`"wood" in fuels`, true},
		{`selected(fuels, "wood") && !selected(fuels, "charcoal")`, true},
		{`selected(name, "Amina")`, true},
		{`selected(nolist, "wood")`, false},
		{`section.size >= 5`, true},
		{`none == null`, true},
		{`fuels != null`, true},
		{`nolist == null`, true},
		{`place == null`, false},
		{`none > 3`, false},
		{`!(none > 3)`, false},
		{`none > 3 || size == 5`, true},
		{`none == 3`, false},
		{`member`, true},
		{`!member`, false},
		{`answered(name) && !answered(none) && !answered(nolist)`, true},
		{`count(fuels) == 2 && count(none) == 0 && count(name) == 1`, true},
		{`count(devices) == 2`, true},
		{`sum(devices.map(d, d.hours)) == 5.5`, true},
		{`sum(devices.map(d, d.hours)) / count(devices) == 2.75`, true},
		{`devices.exists(d, d.type == "lpg" && d.hours > 3)`, true},
		{`devices.all(size, size.hours > 3)`, false},
		{`devices[0].type == "mud"`, true},
		{`devices[index].type == "lpg"`, true},
		{`devices.filter(d, d.hours > size).size() == 0`, true},
		{`coalesce(none, 7) + 1.5 == 8.5`, true},
		{`coalesce(size, 7) == 5`, true},
		{`since < today`, true},
		{`today - since >= duration("240h")`, true},
		{`since.getFullYear() == 2026`, true},
		{`place.lat < 0`, true},
		{`has(section.name) && !has(section.none)`, true},
		{`attributes.village == "Kibera"`, true},
		{`attributes.nothing == null`, true},
		{`attributes["rooms"] + 1 == 4`, true},
		{`"village" in attributes`, true},
		{`name.startsWith("Am") && name.lowerAscii() == "amina"`, true},
		{`name.matches("^[A-Z][a-z]+$")`, true},
		{`name.matches("^[A-Z][a-z]{2,7}$")`, true}, // a counted repeat
		{`name.matches("^[A-Z]{2}")`, false},
		{`math.greatest(size, 9) == 9`, true},
		{`math.round(2.6) == 3`, true},
		{`calc * 2 == 4`, true},
		{`calc == "x"`, false},
		{`size > 3 ? name == "Amina" : false`, true},
		{`int(size) == 5`, true},
		{`string(int(size)) == "5"`, true},
		{`true`, true},
	} {
		t.Run(tt.source, func(t *testing.T) {
			t.Parallel()
			p, err := w.env.Compile(tt.source, w.names, cel.Condition)
			if err != nil {
				t.Fatal(err)
			}
			if got, _, err := p.Holds(w.vars); got != tt.want {
				t.Errorf("Holds() = %v (%v), want %v", got, err, tt.want)
			}
		})
	}
}

func TestCompileNamesThePlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct {
		source string
		column int
		says   string
	}{
		{`size > 3 && nmae == "x"`, 13, "no question is called nmae"},
		{`section.nmae == "x"`, 8, "undefined field 'nmae'"},
		{`devices.map(d, d.hour)`, 17, "undefined field 'hour'"},
		{`place.lon > 1`, 6, "undefined field 'lon'"},
		{`size == "5"`, 6, "a number cannot equal a text"},
		{`size in ["5"]`, 6, "a number cannot be in a list that holds a text"},
		{`"x" in name`, 5, "must be a list"},
		{`fuels == "wood"`, 7, "a list cannot equal a text"},
		{`size != "5" ? true : false`, 6, "a number cannot equal a text"},
		{`name > 5`, 6, "no matching overload"},
		{`size`, 1, "is not available here"},
		{`section`, 1, "a record"},
		{`size >`, 7, "mismatched input"},
		{`frobnicate(size)`, 11, "undeclared reference to 'frobnicate'"},
		{`@s.size == 1`, 1, "token recognition"},
		{`Foo{a: 1} == null`, 4, "records cannot be made"},
		{`google.protobuf.Duration{} == null`, 25, "records cannot be made"},
		{`[1].all(a, [1].all(b, [1].all(c, true)))`, 0, "at most 2 loops"},
		{`name.matches("(")`, 0, "error parsing regexp"},
		{`name.matches(name)`, 0, "must be a literal text in the expression"},
		{`name.matches("(([a-z]{1,100}){1,10})")`, 0, "too large"},
		{`name.matches("[^b]{0,247}b")`, 0, "begin it with ^"},
		{`name.matches("` + strings.Repeat(".{0,1000}", 55) + `")`, 0, "too large"},
		{`name.matches("^\\pL{90}$") || name.matches("^\\pL{91}$")`, 0, "too large together"},
		{strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), 0, "recursion"},
		{strings.Repeat("!", 60) + "true", 0, ""},
		{`"` + strings.Repeat("x", 2000) + `" == name`, 2001, "at most 2000"},
		{strings.Repeat("1+", 600) + "1 > 2", 0, "recursion"},
		{"[" + strings.Repeat("1,", 700) + "1] == null", 0, "too long"},
		{"", 1, "mismatched input"},
	} {
		t.Run(tt.says, func(t *testing.T) {
			t.Parallel()
			_, err := w.env.Compile(tt.source, w.names, cel.Condition)
			var e *cel.Error
			if !errors.As(err, &e) {
				if tt.says == "" {
					return
				}
				t.Fatalf("Compile(%.40q) = %v, want an *Error", tt.source, err)
			}
			if !strings.Contains(e.Message, tt.says) || tt.column > 0 && e.Column != tt.column {
				t.Errorf("Compile(%.40q) = %v, want column %d and %q", tt.source, e, tt.column, tt.says)
			}
		})
	}
}

func TestBombsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := "[" + strings.Repeat("0,", 300) + "0]"
	for _, source := range []string{
		list + ".map(a, " + list + ").size() > 0 && " + list + ".all(a, " + list + ".all(b, a + b == 0))",
		`"` + strings.Repeat("a", 900) + `".replace("a", "` + strings.Repeat("a", 900) + `").replace("a", "aaaaaaaaaaaaaaaa").size() > 0`,
		`"%.1000000f".format([1.5]) == ""`,
	} {
		p, err := w.env.Compile(source, w.names, cel.Condition)
		if err != nil {
			continue // refused at once is as good
		}
		held, cost, err := p.Holds(w.vars)
		if held || err == nil || cost > 100*cel.MaxCost {
			t.Errorf("Holds(%.40q) = %v at cost %d, %v; want it stopped", source, held, cost, err)
		}
	}
}

// What our functions of texts cost follows from the texts.
func TestTextsCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	section, _ := w.vars["@s"].(*cel.Record)
	answers, _ := section.Members.(row)
	answers[1] = cel.TextValue(strings.Repeat("x", 20_000))
	for source, says := range map[string]string{
		`digest(name, "SHA-256", "hex") != ""`: "",
		`digest(name, "MD5", "hex") + digest(name, "SHA-1", "hex") + digest(name, "SHA-256", "hex") + digest(name, "SHA-384", "hex") + digest(name + "a", "MD5", "hex") + ` +
			`digest(name + name, "SHA-512", "hex") + exchanged(name + name, "x", "y") + squeezed(name + name) + exchanged(name + name, "x", "z") != ""`: "cost limit",
		`joined([name, name, name, name, name, name], "") != ""`: "too long",
		`joined(["a", "b"], name) != ""`:                         "",
	} {
		p, err := w.env.Compile(source, w.names, cel.Condition)
		if err != nil {
			t.Fatal(err)
		}
		if _, cost, err := p.Holds(w.vars); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) || says != "too long" && cost < 2_000 {
			t.Errorf("Holds(%.50s…) costs %d (%v), want %q", source, cost, err, says)
		}
	}
}

// What our functions of lists cost follows from the lists, and looking a row of
// a table up from the rows it finds.
func TestTablesCost(t *testing.T) {
	t.Parallel()
	const many = 20_000
	rows := make([][]string, many)
	for i := range rows {
		rows[i] = []string{"1", strconv.Itoa(i), strings.Repeat("1.5 2.5;", 500)}
	}
	shape, files := cel.NewShape("v"), cel.NewShape("files")
	for _, name := range []string{"g", "id", "shape"} {
		shape.Add(name, cel.Text)
	}
	files.Add("v", cel.ListOf(shape))
	env, err := cel.NewEnv([]*cel.Shape{shape, files}, []cel.Variable{{"files", cel.RecordOf(files)}, {"any", cel.Any}})
	if err != nil {
		t.Fatal(err)
	}
	in := vars{"files": &cel.Record{Shape: files, Members: row{cel.NewTable(shape, rows)}}, "any": cel.TextValue(strings.Repeat("x", 4000))}
	names := func(name string) (cel.Ref, error) { return cel.Ref{Var: name}, nil }
	const stopped = cel.MaxCost + 1
	for _, tt := range []struct {
		source string
		least  uint64
		most   uint64
	}{
		{`item(found(files.v, "id", "19999").map(r, r.id), 0) == "19999"`, 1, 30},
		{`count(files.v) == 20000.0`, 1, 10},
		{`count(found(files.v, "g", "1")) == 20000.0`, many, many + 10},
		{`size(files.v.filter(r, size(found(files.v, "g", "1")) > 5)) == 0`, stopped, 4 * cel.MaxCost},
		{`size(found(files.v + [files.v[0]], "id", "7") + found(files.v, "id", "7")) == 2`, 2 * many, 2*many + 40},
		{`size(files.v + files.v + files.v) == 60000`, stopped, 4 * cel.MaxCost},
		{`area([files.v[0].shape]) >= 0.0`, 400, 420},
		{`[files.v[0].shape].exists(s, selected([s, s, s], "x")) == false`, 1200, 1250},
		{`[any].map(a, coalesce(a, a) + coalesce(a, a)).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).size() == 1`, stopped, 4 * cel.MaxCost},
	} {
		p, err := env.Compile(tt.source, names, cel.Condition)
		if err != nil {
			t.Errorf("Compile(%s): %v", tt.source, err)
			continue
		}
		held, cost, err := p.Holds(in)
		if cost < tt.least || cost > tt.most || held != (tt.least != stopped) || !held && (err == nil || !strings.Contains(err.Error(), "cost limit")) {
			t.Errorf("Holds(%s) = %v at cost %d (%v), want %d to %d", tt.source, held, cost, err, tt.least, tt.most)
		}
	}
}

// What matches costs follows from its pattern and from the text.
func TestMatchesHasItsCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	section, _ := w.vars["@s"].(*cel.Record)
	answers, _ := section.Members.(row)
	answers[1] = cel.TextValue(strings.Repeat("a", 4000))
	for _, tt := range []struct {
		source  string
		least   uint64
		says    string
		allowed bool
	}{
		{`name.matches("^b")`, 1, "", true},
		{`name.matches("(?:.*.?){20}")`, 20_000, "", true},
		{`matches(name, "(?:.*.?){20}")`, 20_000, "", true},
		{`name.matches("(?:.*.?){20}") && name.matches("(?:.*.?){19}")`, 30_000, "cost limit", false},
		{`(name + name + name + name + name + name).matches("(?:.*.?){20}")`, 1, "too long for the pattern", false},
		{`calc.matches("a")`, 1, "no such overload", false},
	} {
		p, err := w.env.Compile(tt.source, w.names, cel.Condition)
		if err != nil {
			t.Fatal(err)
		}
		_, cost, err := p.Holds(w.vars)
		if (err == nil) != tt.allowed || err != nil && !strings.Contains(err.Error(), tt.says) || cost < tt.least {
			t.Errorf("Holds(%s) costs %d (%v), want at least %d and %q", tt.source, cost, err, tt.least, tt.says)
		}
		if p.Patterns() == 0 || p.Weight() < p.Patterns() {
			t.Errorf("%s weighs %d, its patterns %d", tt.source, p.Weight(), p.Patterns())
		}
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct{ source, want string }{
		{`size > 1 && section.size < 9`, "s.size"},
		{`sum(devices.map(d, d.hours)) > 1`, "s.devices s.devices.hours"},
		{`count(devices) > 1`, "s.devices"},
		{`devices[0].type == "x"`, "s.devices.type s.devices"},
		{`answered(devices)`, "s.devices*"},
		{`answered(devices[0])`, "s.devices.* s.devices"},
		{`devices[0] == devices[1]`, "s.devices.* s.devices"},
		{`(member ? devices[0] : devices[1]).type == "x"`, "s.devices.type s.member s.devices"},
		{`devices.size() > 1`, "s.devices"},
		{`size(devices.filter(d, d.hours > 1)) > 1`, "s.devices s.devices.hours"},
		{`count(devices.map(d, d.hours > 1, d)) > 1`, "s.devices s.devices.hours"},
		{`devices.filter(d, d.hours > 1).size() > 1`, "s.devices s.devices.hours"},
		{`devices.filter(d, d.hours > 1).exists(x, x.type == "a")`, "s.devices s.devices.hours s.devices.type"},
		{`devices.filter(d, d.hours > 1)[0].type == "a"`, "s.devices.type s.devices s.devices.hours"},
		{`answered(devices.filter(d, d.hours > 1))`, "s.devices s.devices.hours s.devices.*"},
		{`devices.filter(d, answered(d)).size() > 1`, "s.devices s.devices.*"},
		{`devices.filter(d, d.hours > 1) == devices`, "s.devices s.devices.hours s.devices.* s.devices*"},
		{`devices.map(d, devices).exists(x, answered(x))`, "s.devices s.devices*"},
		{`[devices.filter(d, d.hours > 1)].size() > 0`, "s.devices s.devices.hours s.devices.*"},
		{`devices.exists(d, answered(d))`, "s.devices s.devices.*"},
		{`answered(section)`, "s.*"},
		{`place.lat > 1`, "geo.lat s.place"},
		{`answered(place)`, "s.place*"},
		{`true`, ""},
	} {
		p, err := w.env.Compile(tt.source, w.names, cel.Condition)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range p.Uses() {
			name := u.Shape.Name() + "."
			if u.Field >= 0 {
				name += u.Shape.Fields()[u.Field].Name
			}
			if u.Deep {
				name += "*"
			}
			got = append(got, name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("Uses(%s) = %q, want %q", tt.source, s, tt.want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	w := newWorld(f)
	for _, s := range []string{`size > 3`, `devices.map(d, d.hours)`, `selected(fuels, "wood")`, "a.`b c`", `"\u0000" == name`, `{1: 2}[size]`, `[[[]]]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := w.env.Compile(source, w.names, cel.Result)
		if err != nil {
			var e *cel.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("Compile(%q) = %v, want an *Error with a place", source, err)
			}
			return
		}
		if _, cost, _ := p.Eval(w.vars); cost > 100*cel.MaxCost {
			t.Errorf("Eval(%q) cost %d", source, cost)
		}
	})
}

func BenchmarkHolds(b *testing.B) {
	w := newWorld(b)
	for _, source := range []string{`size > 3 && selected(fuels, "wood")`, `sum(devices.map(d, d.hours)) > 3`} {
		p, err := w.env.Compile(source, w.names, cel.Condition)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(source, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if held, _, _ := p.Holds(w.vars); !held {
					b.Fatal("does not hold")
				}
			}
		})
	}
}
