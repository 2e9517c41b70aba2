package openrosa_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa/openrosatest"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// foreign counts what becomes of workbooks that others have made.
type foreign struct {
	whole, loss, refused int
	codes                map[string]int // of refusals
	forms, impossible    int            // of those that are read: as XForms
	reasons              map[string]int // why they cannot be
}

// TestForeignForms reads the workbooks of the folder HEARTH_TEST_FORMS, makes XForms of
// them, and has ODK's engine fill these in. It tells how many are read whole, with
// what they lose named, and not at all.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("HEARTH_TEST_FORMS")
	if dir == "" {
		t.Skip("HEARTH_TEST_FORMS names no folder of workbooks")
	}
	clienttest.Need(t)
	all, err := filepath.Glob(filepath.Join(dir, "*.xlsx"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: no workbooks, %v", dir, err)
	}
	n := &foreign{codes: map[string]int{}, reasons: map[string]int{}}
	for i, file := range all {
		f := n.read(t, file)
		if f == nil {
			continue
		}
		x, err := openrosa.NewForm(f, openrosa.Options{Version: 3})
		if err != nil {
			n.impossible++
			for _, one := range fault.As(err).Fields {
				n.reasons[one.Detail]++
			}
			continue
		}
		n.forms++
		n.ask(t, filepath.Base(file), uint64(i), f, x)
	}
	t.Logf("%d workbooks: %d whole, %d with loss named, %d refused %v", len(all), n.whole, n.loss, n.refused, n.codes)
	t.Logf("of those read %d are XForms, %d cannot be", n.forms, n.impossible)
	for _, why := range slices.SortedFunc(maps.Keys(n.reasons), func(a, b string) int { return n.reasons[b] - n.reasons[a] }) {
		t.Logf("%4d %s", n.reasons[why], why)
	}
}

// read reads a workbook, and nothing when it is refused: every refusal and every
// loss has its place.
func (n *foreign) read(t *testing.T, file string) *form.Form {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, report, err := xlsform.Read(bytes.NewReader(raw), int64(len(raw)), xlsform.Beside{})
	if err == nil {
		var f *form.Form
		doc.TemplateID = "foreign"
		if f, err = form.Compile(doc); err == nil {
			if slices.ContainsFunc(report.Items, func(i xlsform.Item) bool { return i.Level == xlsform.Warning }) {
				n.loss++
			} else {
				n.whole++
			}
			return f
		}
	}
	n.refused++
	why := fault.As(err)
	if why == nil || len(why.Fields) == 0 {
		t.Errorf("%s: refused without a place: %v", filepath.Base(file), err)
		return nil
	}
	n.codes[why.Fields[0].Code]++
	return nil
}

// ask has the engine fill a form in, and compares as for our own.
func (n *foreign) ask(t *testing.T, name string, seed uint64, f *form.Form, x *openrosa.Form) {
	t.Helper()
	r := rand.New(rand.NewPCG(24, seed))
	var cases []played
	for range 3 {
		cases = append(cases, played{answers: openrosatest.Answers(r, f.Template(), false)})
	}
	for i, got := range engine(t, &filling{name: strings.TrimSuffix(name, ".xlsx"), form: f, xform: x, cases: cases})[0] {
		(&openrosatest.Interview{Name: fmt.Sprintf("%s #%d", name, i), Form: f, XForm: x}).Compare(t, cases[i].answers, got)
	}
}
