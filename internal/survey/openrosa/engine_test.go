package openrosa_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa/openrosatest"
)

func templates(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../template/shipped/*.json")
	if err != nil || len(all) < 3 {
		t.Fatalf("shipped templates: %v, %v", all, err)
	}
	return append(all, "testdata/everything.json")
}

// played are answers, as we made them.
type played struct {
	answers jsontext.Value
	wild    bool
}

// filling is a form that the engine fills in, with the answers for it.
type filling struct {
	name  string
	form  *form.Form
	xform *openrosa.Form
	rand  *rand.Rand
	cases []played
	whole int // answer sets that were taken
}

// invent makes up the answers of the next run.
func (f *filling) invent(from, to int) {
	f.cases = nil
	for i := from; i < to; i++ {
		p := played{wild: i%4 == 3}
		p.answers = openrosatest.Answers(f.rand, f.form.Template(), p.wild)
		f.cases = append(f.cases, p)
	}
}

// TestEngine has ODK's engine fill in the forms with answers that were made up.
// What it asks, refuses, offers, calculates and sends is what our own form says
// to the same answers.
func TestEngine(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	each := 24
	if dbtest.Everything() {
		each = 550
	}
	var all []*filling
	for n, file := range templates(t) {
		f, x := openrosatest.Load(t, file)
		all = append(all, &filling{name: filepath.Base(file), form: f, xform: x, rand: rand.New(rand.NewPCG(24, uint64(n)))})
	}
	for done := 0; done < each; done += atOnce {
		for _, f := range all {
			f.invent(done, min(done+atOnce, each))
		}
		for n, filled := range engine(t, all...) {
			f := all[n]
			for i, got := range filled {
				c := &openrosatest.Interview{Name: fmt.Sprintf("%s #%d", f.name, done+i), Form: f.form, XForm: f.xform}
				if c.Compare(t, f.cases[i].answers, got) {
					f.whole++
				}
			}
		}
	}
	for _, f := range all {
		if f.whole < each/3 {
			t.Errorf("%s: %d of %d answer sets were taken, want a third at least", f.name, f.whole, each)
		}
	}
}

// atOnce is how many answer sets of each form one run of the engine fills in: it has
// minutes, and seconds to start.
const atOnce = 50

// engine has the engine fill in forms.
func engine(t *testing.T, all ...*filling) [][]openrosatest.Filled {
	t.Helper()
	var sheets []*openrosatest.Sheet
	for _, f := range all {
		var answers []jsontext.Value
		for _, p := range f.cases {
			answers = append(answers, p.answers)
		}
		sheets = append(sheets, openrosatest.NewSheet(f.name, f.form, f.xform, answers))
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.json"), filepath.Join(dir, "out.json")
	text, err := json.Marshal(sheets)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, text, 0o600); err != nil {
		t.Fatal(err)
	}
	clienttest.Run(t, "odk.mjs", "ODK_IN="+in, "ODK_OUT="+out)
	if text, err = os.ReadFile(out); err != nil {
		t.Fatal(err)
	}
	var theirs []struct {
		Cases []openrosatest.Filled `json:"cases"`
	}
	if err := json.Unmarshal(text, &theirs); err != nil || len(theirs) != len(all) {
		t.Fatalf("%d forms told of, want %d (%v)", len(theirs), len(all), err)
	}
	filled := make([][]openrosatest.Filled, len(all))
	for i, f := range all {
		if filled[i] = theirs[i].Cases; len(filled[i]) != len(f.cases) {
			t.Fatalf("%s: %d answer sets told of, want %d", f.name, len(filled[i]), len(f.cases))
		}
	}
	return filled
}

// TestEngineEntities has ODK's engine fill in a form that changes a twin, and one that
// makes one. What it sends names them, and of which version they are.
func TestEngineEntities(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	const twin = "did:ixo:entity:00112233445566778899aabbccddeeff"
	questions := `"sections":[{"id":"s","questions":[{"id":"stove","type":"entity_ref","list":"stoves"},{"id":"serial","type":"text","saveTo":"serial"},{"id":"works","type":"boolean"}]}]`
	var all []*filling
	var wants []string
	for entity, want := range map[string]string{
		`{"list":"stoves","id":"stove","label":"serial"}`:                                                                    `dataset="stoves" id="` + twin + `" update="1" baseVersion="7"`,
		`{"list":"stoves","label":"serial","id":"stove","create":"stove == null","update":"stove != null && works == true"}`: `dataset="stoves" id="` + twin + `" create="" update="1" baseVersion="7"`,
		`{"list":"stoves","label":"serial + \" new\""}`:                                                                      `create="1"><label>A-1 new</label>`,
		`{"list":"stoves","label":"serial","create":"works == false"}`:                                                       `create=""`,
	} {
		f := openrosatest.Compile(t, []byte(`{"templateId":"t","entity":`+entity+`,`+questions+`}`))
		x, err := openrosa.NewForm(f, openrosa.Options{Version: 3})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Lists, []string{"stoves"}) {
			t.Errorf("lists = %v", x.Lists)
		}
		x.Files = []openrosa.File{{Name: "stoves.csv", Content: []byte("name,label,__version,serial\n" + twin + ",One,7,A-0\n")}}
		all = append(all, &filling{name: entity, form: f, xform: x, cases: []played{{answers: jsontext.Value(`{"s":{"stove":"` + twin + `","serial":"A-1","works":true}}`)}}})
		wants = append(wants, want)
	}
	for i, filled := range engine(t, all...) {
		entity, x, got := all[i].name, all[i].xform, filled[0]
		if !strings.Contains(got.Sent, wants[i]) {
			t.Errorf("%s: sent %s, want %s\n%s", entity, got.Sent, wants[i], x.XML)
		}
		in, err := openrosa.Parse([]byte(got.Sent))
		if err != nil {
			t.Fatal(err)
		}
		// An instance that is taken up again gets no id: that is for new ones.
		if e := in.Entity(); e == nil || e.BaseVersion == 7 && e.ID != twin || e.BaseVersion == 0 && !strings.Contains(string(x.XML), `<setvalue ref="/data/meta/entity/@id" event="odk-instance-first-load" value="uuid()"/>`) {
			t.Errorf("%s: entity = %+v\n%s", entity, e, got.Sent)
		}
	}
}
