package xform_test

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
	"github.com/hearth-dmrv/hearth/internal/survey/xform"
	"github.com/hearth-dmrv/hearth/internal/survey/xform/xformtest"
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
	for n, file := range templates(t) {
		f, x := xformtest.Load(t, file)
		r := rand.New(rand.NewPCG(24, uint64(n)))
		whole := 0
		for done := 0; done < each; done += atOnce {
			var cases []played
			for i := done; i < min(done+atOnce, each); i++ {
				p := played{wild: i%4 == 3}
				p.answers = xformtest.Answers(r, f.Template(), p.wild)
				cases = append(cases, p)
			}
			for i, got := range engine(t, filepath.Base(file), f, x, cases) {
				c := &xformtest.Interview{Name: fmt.Sprintf("%s #%d", filepath.Base(file), done+i), Form: f, XForm: x}
				if c.Compare(t, cases[i].answers, got) {
					whole++
				}
			}
		}
		if whole < each/3 {
			t.Errorf("%s: %d of %d answer sets were taken, want a third at least", file, whole, each)
		}
	}
}

// atOnce is how many answer sets one run of the engine fills in: it has minutes.
const atOnce = 110

// engine has the engine fill in a form.
func engine(t *testing.T, name string, f *form.Form, x *xform.Form, cases []played) []xformtest.Filled {
	t.Helper()
	var answers []jsontext.Value
	for _, p := range cases {
		answers = append(answers, p.answers)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.json"), filepath.Join(dir, "out.json")
	text, err := json.Marshal([]*xformtest.Sheet{xformtest.NewSheet(name, f, x, answers)})
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
		Cases []xformtest.Filled `json:"cases"`
	}
	if err := json.Unmarshal(text, &theirs); err != nil || len(theirs) != 1 || len(theirs[0].Cases) != len(cases) {
		t.Fatalf("%s: %d forms told of, want one with %d answer sets (%v)", name, len(theirs), len(cases), err)
	}
	return theirs[0].Cases
}

// TestEngineEntities has ODK's engine fill in a form that changes a twin, and one that
// makes one. What it sends names them, and of which version they are.
func TestEngineEntities(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	const twin = "did:ixo:entity:00112233445566778899aabbccddeeff"
	questions := `"sections":[{"id":"s","questions":[{"id":"stove","type":"entity_ref","list":"stoves"},{"id":"serial","type":"text","saveTo":"serial"},{"id":"works","type":"boolean"}]}]`
	for entity, want := range map[string]string{
		`{"list":"stoves","id":"stove","label":"serial"}`:                                                                    `dataset="stoves" id="` + twin + `" update="1" baseVersion="7"`,
		`{"list":"stoves","label":"serial","id":"stove","create":"stove == null","update":"stove != null && works == true"}`: `dataset="stoves" id="` + twin + `" create="" update="1" baseVersion="7"`,
		`{"list":"stoves","label":"serial + \" new\""}`:                                                                      `create="1"><label>A-1 new</label>`,
		`{"list":"stoves","label":"serial","create":"works == false"}`:                                                       `create=""`,
	} {
		f := xformtest.Compile(t, []byte(`{"templateId":"t","entity":`+entity+`,`+questions+`}`))
		x, err := xform.New(f, xform.Options{Version: 3})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Lists, []string{"stoves"}) {
			t.Errorf("lists = %v", x.Lists)
		}
		x.Files = []xform.File{{Name: "stoves.csv", Content: []byte("name,label,__version,serial\n" + twin + ",One,7,A-0\n")}}
		got := engine(t, "entities", f, x, []played{{answers: jsontext.Value(`{"s":{"stove":"` + twin + `","serial":"A-1","works":true}}`)}})[0]
		if !strings.Contains(got.Sent, want) {
			t.Errorf("%s: sent %s, want %s\n%s", entity, got.Sent, want, x.XML)
		}
		in, err := xform.Parse([]byte(got.Sent))
		if err != nil {
			t.Fatal(err)
		}
		// An instance that is taken up again gets no id: that is for new ones.
		if e := in.Entity(); e == nil || e.BaseVersion == 7 && e.ID != twin || e.BaseVersion == 0 && !strings.Contains(string(x.XML), `<setvalue ref="/data/meta/entity/@id" event="odk-instance-first-load" value="uuid()"/>`) {
			t.Errorf("%s: entity = %+v\n%s", entity, e, got.Sent)
		}
	}
}
