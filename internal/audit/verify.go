package audit

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// Statuses of claims.
const (
	approved = "approved"
	disputed = "disputed"
)

// Check is one kind of check: how many there were, and which failed.
type Check struct {
	Name  string
	Count int
	Wrong []string
}

// Report is the result of a verification.
type Report struct {
	Project, Issuer, Key string
	Made                 time.Time
	Vouched              bool // the signer is the one that was named
	Checks               []Check
	Notes                []string
}

// Verified reports whether every check passed.
func (r *Report) Verified() bool {
	return !slices.ContainsFunc(r.Checks, func(c Check) bool { return len(c.Wrong) > 0 })
}

// auditor verifies a bundle.
type auditor struct {
	*bundle
	report *Report
	keys   map[string]ed25519Key
	claims map[string]*record
	lists  map[string]jsontext.Value
	units  map[string]map[string]bool // of draws
}

type ed25519Key struct {
	vc.Method
	stolen time.Time
}

// Verify checks a bundle and recomputes every figure in it. issuer is the required DID
// of the signer, a did:web with its key after #; "" for any. An error means that the
// file is not a bundle; failed checks are in the report.
func Verify(ctx context.Context, in io.ReaderAt, size int64, issuer string) (*Report, error) {
	b, err := open(in, size)
	if err != nil {
		return nil, err
	}
	a := &auditor{
		bundle: b, report: &Report{Project: b.Project, Issuer: b.issuer, Key: b.method[strings.LastIndex(b.method, "#")+1:], Made: b.made},
		keys: map[string]ed25519Key{}, claims: map[string]*record{}, lists: map[string]jsontext.Value{}, units: map[string]map[string]bool{},
	}
	a.check("signature", 1, a.signature(ctx, issuer))
	a.check("archive", 1, a.frame)
	n, wrong := a.hashes()
	a.check("files", n, wrong)
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) (int, []string)
	}{
		{"draws", a.draws}, {"figures", a.figures}, {"evaluations", a.evaluations}, {"calculations", a.calculations}, {"status lists", a.statusLists}, {"credentials", a.credentials},
	} {
		n, wrong := step.run(ctx)
		a.check(step.name, n, wrong)
	}
	for _, text := range b.LeftOut {
		a.note("%s", text)
	}
	return a.report, nil
}

func (a *auditor) check(name string, n int, wrong []string) {
	a.report.Checks = append(a.report.Checks, Check{name, n, wrong})
}

func (a *auditor) note(format string, args ...any) {
	a.report.Notes = append(a.report.Notes, fmt.Sprintf(format, args...))
}

// keyNamed reads the key that the name of a method ends with. That of a did:key is its
// own, whatever the name says.
func keyNamed(method string) (vc.Method, bool) {
	id, text, _ := strings.Cut(method, "#")
	if own, ok := strings.CutPrefix(id, "did:key:"); ok && own != text {
		return vc.Method{}, false
	}
	key, err := did.DID("did:key:" + text).Ed25519()
	return vc.Method{Controller: id, Key: key, Purposes: []string{vc.Assertion}}, err == nil
}

// signature checks the manifest's own: by the key it names, which is the issuer's.
func (a *auditor) signature(ctx context.Context, issuer string) (wrong []string) {
	v := vc.Verifier{Now: a.now, Lookup: func(_ context.Context, method string) (vc.Method, bool, error) {
		m, ok := keyNamed(method)
		return m, ok, nil
	}}
	found := v.Credential(ctx, a.signed, vc.Options{})
	for _, r := range append(found.Reasons, found.Warnings...) {
		wrong = append(wrong, fmt.Sprintf("%s %s: %s", ManifestName, r.Code, r.Detail))
	}
	// The manifest was read as a document that contains its proof: an envelope around it
	// proves nothing about that.
	if found.Form != "data-integrity" || found.Issuer != a.issuer {
		wrong = append(wrong, ManifestName+" is not signed as a whole by the issuer it names.")
	}
	name, key, withKey := strings.Cut(issuer, "#")
	switch {
	case issuer == "":
	case name != a.issuer:
		wrong = append(wrong, "The manifest is signed by "+a.issuer+", not by "+name+".")
	case withKey && key != a.report.Key:
		wrong = append(wrong, "The manifest is signed with the key "+a.report.Key+", not with "+key+".")
	case !withKey && !strings.HasPrefix(name, "did:key:"):
		wrong = append(wrong, "The name is that of the signer, and its key cannot be looked up without a network. Compare "+a.report.Key+" with the DID document of "+name+", and give --issuer "+a.method+".")
	default:
		a.report.Vouched = true
	}
	return wrong
}

// now is the moment the bundle was made, for all that has a time.
func (a *auditor) now() time.Time { return a.made.Add(time.Minute) }

// hashes compares every file with the manifest.
func (a *auditor) hashes() (n int, wrong []string) {
	listed := map[string]bool{ManifestName: true}
	for _, e := range a.Files {
		n++
		listed[e.Name] = true
		text, err := a.read(e.Name)
		if err != nil {
			wrong = append(wrong, err.Error()+".")
			continue
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != e.SHA256 {
			wrong = append(wrong, e.Name+" was changed: its SHA-256 is "+hex.EncodeToString(sum[:])+", the manifest says "+e.SHA256+".")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if !listed[name] {
			wrong = append(wrong, name+" is not in the manifest.")
		}
	}
	return n, wrong
}

// under are the files of a folder that end with a name, in order.
func (a *auditor) under(folder, end string) (out []string) {
	for _, e := range a.Files {
		if strings.HasPrefix(e.Name, folder) && strings.HasSuffix(e.Name, end) {
			out = append(out, e.Name)
		}
	}
	return out
}

// draws makes every draw again.
func (a *auditor) draws(context.Context) (n int, wrong []string) {
	for _, name := range a.under("draws/", ".json") {
		n++
		rec := new(api.SampleRecord)
		text, err := a.read(name)
		if err == nil {
			err = json.Unmarshal(text, rec)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s cannot be read: %v.", name, err))
			continue
		}
		units := map[string]bool{}
		for _, u := range rec.Units {
			units[u.Unit] = true
		}
		a.units[rec.Draw.DrawID] = units
		got, err := sampling.VerifyRecord(rec)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v.", name, err))
			continue
		}
		for _, t := range got.Checks {
			if !t.OK {
				wrong = append(wrong, name+" "+t.Name+": "+t.Detail)
			}
		}
	}
	return n, wrong
}

// figures makes every figure again, and looks whether its households were drawn.
func (a *auditor) figures(context.Context) (n int, wrong []string) {
	for _, name := range a.under("surveys/", "/"+figuresName) {
		var b statistics.Basis
		text, err := a.read(name)
		if err == nil {
			err = json.Unmarshal(text, &b)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s cannot be read: %v.", name, err))
			continue
		}
		if b.Sampling != nil && b.Sampling.Draw != nil {
			wrong = append(wrong, a.drawn(name, &b)...)
		}
		for i, q := range b.Questions {
			got, err := b.Again(i)
			switch {
			case err != nil && q.Figures == nil: // it had none either
			case err != nil:
				wrong = append(wrong, fmt.Sprintf("%s %s: %v.", name, q.Question, err))
			default:
				n++
				if at := differs("", got, q.Figures); at != "" {
					wrong = append(wrong, fmt.Sprintf("%s %s comes out otherwise in %s.", name, q.Question, at))
				}
			}
		}
	}
	return n, wrong
}

// drawn looks for the households of a survey in its draw.
func (a *auditor) drawn(name string, b *statistics.Basis) (wrong []string) {
	units, ok := a.units[b.Sampling.Draw.DrawID]
	if !ok {
		a.note("%s names the draw %s, which is not in the bundle.", name, b.Sampling.Draw.DrawID)
		return nil
	}
	for _, h := range b.Homes {
		if h.Source == "drawn" && !units[h.Name] {
			wrong = append(wrong, name+": "+h.Name+" counts as drawn, and the draw has not drawn it.")
		}
	}
	return wrong
}

// differs is where two values differ as JSON; numbers may be apart by what two
// processors are.
func differs(at string, a, b any) string {
	text := func(v any) (out any) {
		raw, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		if err != nil {
			return err.Error()
		}
		return out
	}
	return apart(at, text(a), text(b))
}

func apart(at string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		all := maps.Clone(x)
		maps.Copy(all, y)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if where := apart(at+"/"+name, x[name], y[name]); where != "" {
				return where
			}
		}
		return ""
	case []any:
		y, _ := b.([]any)
		if len(x) != len(y) {
			return at
		}
		for i := range x {
			if where := apart(fmt.Sprintf("%s/%d", at, i), x[i], y[i]); where != "" {
				return where
			}
		}
		return ""
	case float64:
		if y, ok := b.(float64); ok && math.Abs(x-y) <= 1e-9*max(1, math.Abs(x)) {
			return ""
		}
		return at
	}
	if a != b {
		return at
	}
	return ""
}

// record is a claim while its evaluations are made again.
type record struct {
	claimLine
	granted float64 // by its last approval
	decided bool
}

// evaluations decides every evaluation again, the newest of a claim first.
func (a *auditor) evaluations(context.Context) (n int, wrong []string) {
	err := each(a.bundle, claimsName, func(c *claimLine) error {
		a.claims[c.ID] = &record{claimLine: *c}
		if c.Document == nil {
			return nil
		}
		raw, err := json.Marshal(c.Document)
		doc := jsontext.Value(raw)
		if err == nil {
			err = doc.Canonicalize()
		}
		if err != nil || cidOf(doc) != c.CID {
			wrong = append(wrong, "The document of the claim "+c.ID+" has another CID.")
		}
		return nil
	})
	rubrics := map[string]*rubric.Rubric{}
	if err == nil {
		err = a.rubrics(rubrics)
	}
	if err == nil {
		err = each(a.bundle, evaluationsName, func(e *evaluation) error {
			n++
			if text := a.again(e, rubrics); text != "" {
				wrong = append(wrong, "The evaluation "+e.ID+" of the claim "+e.Claim+": "+text)
			}
			return nil
		})
	}
	for _, c := range a.claims {
		if c.Status == approved && c.Approved != nil && (!c.decided || c.Approved.Value > c.granted) {
			wrong = append(wrong, "The claim "+c.ID+" has more approved than its evaluation gives.")
		}
	}
	if err != nil {
		wrong = append(wrong, err.Error()+".")
	}
	slices.Sort(wrong)
	return n, wrong
}

// rubrics compiles those of the bundle, by protocol, version and kind.
func (a *auditor) rubrics(out map[string]*rubric.Rubric) error {
	text, err := a.read(protocolsName)
	if err != nil {
		return err
	}
	var all []rules
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("%s cannot be read: %w", protocolsName, err)
	}
	for _, r := range all {
		for kind, form := range r.ClaimTypes {
			var t struct {
				Verification jsontext.Value `json:"verification"`
			}
			if form.Kind() != '{' || json.Unmarshal(form, &t) != nil {
				continue
			}
			var c fault.Checks
			compiled := rubric.Compile(t.Verification, "/verification", &c)
			if err := c.Err("RUBRIC_INVALID", "The rubric of "+r.Protocol+" for "+kind+" cannot be used."); err != nil {
				return err
			}
			if compiled != nil {
				out[r.Protocol+"@"+r.Version+"/"+kind] = compiled
			}
		}
	}
	return nil
}

// again decides an evaluation again, and says what differs.
func (a *auditor) again(e *evaluation, rubrics map[string]*rubric.Rubric) string {
	c := a.claims[e.Claim]
	if c == nil {
		return "the claim is not in the bundle."
	}
	if e.Status == approved && !c.decided {
		c.decided, c.granted = true, e.Amount
	}
	r := rubrics[e.Protocol+"@"+e.Version+"/"+c.Kind]
	switch {
	case r == nil && e.RubricHash == "":
		return "" // people decided
	case r == nil:
		return "its rubric is not in the bundle."
	case r.Hash() != e.RubricHash:
		return "the rubric has the hash " + r.Hash() + ", and decided was by " + e.RubricHash + "."
	case len(e.Withheld) > 0:
		a.note("The evaluation %s was not decided again: facts in free text and names of people are not in a bundle (%s).", e.ID, strings.Join(e.Withheld, ", "))
		return ""
	}
	facts := map[string]rubric.Known{}
	for name, f := range e.Facts {
		raw, err := json.Marshal(f.Value, json.Deterministic(true))
		if err != nil {
			return err.Error() + "."
		}
		facts[name] = rubric.Known{Value: raw, Confidence: f.Confidence}
	}
	d, err := r.Decide(c.asked(), facts)
	if err != nil {
		return err.Error() + "."
	}
	switch {
	case string(d.Outcome) != e.Outcome || d.ReasonCode != e.ReasonCode:
		return fmt.Sprintf("the rubric comes to %s (%s), the evaluation says %s (%s).", d.Outcome, d.ReasonCode, e.Outcome, e.ReasonCode)
	case d.Outcome != rubric.Manual && !rubric.SameAmount(e.Amount, d.Amount):
		return fmt.Sprintf("the rubric gives %v, the evaluation says %v.", d.Amount, e.Amount)
	case d.Outcome == rubric.Manual && c.Amount != nil && e.Amount > c.Amount.Value:
		return "more was approved than claimed."
	}
	return ""
}

// cidOf is the CID, version 1, raw, SHA-256, of bytes.
func cidOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append([]byte{0x01, 0x55, 0x12, 0x20}, sum[:]...)))
}

// asked is a claim as rubrics see it.
func (c *record) asked() rubric.Claim {
	out := rubric.Claim{Kind: c.Kind, Subject: c.Subject, Claimant: c.Claimant, Evidence: len(c.Evidence), Submitted: c.Submitted}
	if c.Amount != nil {
		out.Amount, out.Unit = c.Amount.Value, c.Amount.Unit
	}
	out.PeriodStart, _ = time.Parse(time.DateOnly, c.PeriodStart) // none is the zero time
	out.PeriodEnd, _ = time.Parse(time.DateOnly, c.PeriodEnd)
	return out
}

// calculations makes every calculation again.
func (a *auditor) calculations(context.Context) (n int, wrong []string) {
	err := each(a.bundle, calculationsName, func(c *calculation) error {
		n++
		got, err := emission.Calculate(c.Asked)
		switch {
		case err != nil:
			wrong = append(wrong, "The calculation of the claim "+c.Claim+": "+err.Error()+".")
		case got.TraceHash != c.TraceHash:
			wrong = append(wrong, "The calculation of the claim "+c.Claim+" comes out otherwise: its trace has the hash "+got.TraceHash+", the claim says "+c.TraceHash+".")
		}
		return nil
	})
	if err != nil {
		wrong = append(wrong, err.Error()+".")
	}
	return n, wrong
}
