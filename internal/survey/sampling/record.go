package sampling

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// Format names the form of a published record. In the first one nothing pointed to
// the audit log; in a masked one people have made-up names, so that the entries of the
// log, which have hashes of their DIDs, are not in it.
const (
	Format      = "hearth-sample-2"
	Masked      = "hearth-sample-2-masked"
	firstFormat = "hearth-sample-1"
)

// proof gathers what came of the checks.
type proof struct{ *api.SampleCheck }

func (p proof) add(name string, ok bool, detail string) {
	if ok {
		detail = ""
	}
	p.Checks = append(p.Checks, api.SampleTest{Name: name, OK: ok, Detail: detail})
}

// Verify repeats a published draw and checks everything in it: the frame has its
// hash, the plan follows from the design and the frame, the first part was
// committed before the second came, the seed is made of both, the sample and its
// replacements are those that the seed gives, in their order, and entries of the
// audit log fix everything else. frame reads the published lines; sum is their
// hash. It needs no server.
func Verify(rec *api.SampleRecord, sum string, frame Frame) *api.SampleCheck {
	d := &rec.Draw
	if rec.Format == firstFormat {
		rec.Units = withReplaced(rec.Units)
	}
	out := proof{&api.SampleCheck{DrawID: d.DrawID, SoleSeed: d.SoleSeed}}
	out.add("frame", sum == d.FrameHash, "The SHA-256 of the frame is "+sum+", the draw names "+d.FrameHash+".")
	wrong := samePlan(rec, frame)
	out.add("plan", wrong == "", wrong)
	out.seed(d)
	again, err := Redraw(&d.Plan, d.Seed, frame)
	if err != nil {
		out.add("sample", false, err.Error())
		again = &Drawn{}
	} else {
		wrong = sameSample(again, rec.Units)
		out.add("sample", wrong == "", wrong)
		wrong = sameReplacements(&d.Plan, again, rec.Units)
		out.add("replacements", wrong == "", wrong)
	}
	bad := sameRest(rec, again)
	out.add("record", len(bad) == 0, "These members do not follow from the draw, or differ from the audit log: "+strings.Join(bad, ", ")+".")
	out.remarks(d)
	out.Verified = !slices.ContainsFunc(out.Checks, func(t api.SampleTest) bool { return !t.OK })
	return out.SampleCheck
}

// withReplaced is the units of a record of the first format with what they did not
// say: which unit stands in for a replaced one.
func withReplaced(units []api.SampleUnit) []api.SampleUnit {
	next := map[string]string{}
	for _, u := range units {
		next[u.Replaces] = u.Unit
	}
	out := slices.Clone(units)
	for i := range out {
		out[i].ReplacedBy = next[out[i].Unit]
	}
	return out
}

// seed checks where the seed comes from.
func (p proof) seed(d *api.SampleDraw) {
	if d.SoleSeed {
		p.Remarks = append(p.Remarks, "Only one party named the seed: nothing shows that the seed was not chosen for the sample it gives.")
		return
	}
	p.add("commitment", Commitment(d.FirstPart) == d.Commitment, "The firstPart does not match the commitment.")
	p.add("second", secondHolds(d), "The secondPart did not come after the commitment, or not from the source that second names, or not in its format.")
	p.add("seed", Join(d.FirstPart, d.SecondPart) == d.Seed, "The seed is not made of firstPart and secondPart.")
	if d.Second != nil && d.Second.Source == "beacon" {
		p.Remarks = append(p.Remarks, found(d.Second))
	}
}

// remarks lists questions that remain.
func (p proof) remarks(d *api.SampleDraw) {
	for _, e := range d.Entries {
		where := fmt.Sprintf("entry %d", e.Seq)
		if e.Seq == 0 {
			where = "the entry, which the server no longer keeps,"
		}
		p.Remarks = append(p.Remarks, fmt.Sprintf("Compare with the audit log: %s %s of %s, hash %s.", where, e.Type, e.Time.UTC().Format("2006-01-02 15:04:05.000 UTC"), e.Hash))
	}
	if others, _ := splitEntries(d.Entries); fixesSwaps(others) {
		p.Remarks = append(p.Remarks, "The last entry fixes all replacements up to it: check that the audit log has no later "+replacedEvent+" of this draw.")
	}
	if len(d.Entries) == 0 {
		p.Remarks = append(p.Remarks, "The record is masked, or the draw is older than entries of the audit log in records: times, reasons and the design were not compared with it.")
	}
	if n := d.EarlierOfFrame; n > maxEarlier {
		p.Remarks = append(p.Remarks, fmt.Sprintf("The same frame was drawn or committed %d times before; the last %d are named.", n, maxEarlier))
	}
	for _, o := range d.Earlier {
		if o.SameFrame {
			p.Remarks = append(p.Remarks, "The same frame was drawn or committed before, in "+o.DrawID+". Ask why.")
		} else if o.SameDesign {
			p.Remarks = append(p.Remarks, "The same design or survey was drawn or committed before, from another frame, in "+o.DrawID+". Ask why.")
		}
	}
}

// samePlan says which member of the plan is not what the design takes of the
// frame; "" when all are.
func samePlan(rec *api.SampleRecord, frame Frame) string {
	counted, err := tally(frame)
	if err != nil {
		return err.Error()
	}
	if counted.Population != rec.Draw.Population {
		return fmt.Sprintf("The frame has %d households, population says %d.", counted.Population, rec.Draw.Population)
	}
	plan, _, err := PlanOf(&rec.Design, counted)
	if err != nil {
		return "The design takes nothing of this frame: " + err.Error() + "."
	}
	if at := differs(plan, &rec.Draw.Plan); at != "" {
		return "The design takes something else of the frame than the plan says in " + at + "."
	}
	return ""
}

// tally counts the households and clusters of a frame.
func tally(frame Frame) (*api.SampleFrame, error) {
	out := &api.SampleFrame{}
	at, clusters := map[string]int{}, map[string]map[string]bool{}
	err := frame(func(u Unit) error {
		i, ok := at[u.Stratum]
		if !ok {
			i = len(out.Strata)
			name := strings.Clone(u.Stratum)
			at[name], clusters[name] = i, map[string]bool{}
			out.Strata = append(out.Strata, api.SampleFrameCount{Name: name})
		}
		out.Population++
		out.Strata[i].Population++
		if u.Cluster != "" && !clusters[u.Stratum][u.Cluster] {
			clusters[u.Stratum][strings.Clone(u.Cluster)] = true
			out.Strata[i].Clusters++
		}
		return nil
	})
	return out, err
}

// differs is the path of the first member in which two values differ as JSON; ""
// when they are the same.
func differs(a, b any) string {
	return differsAt("plan", reread(a), reread(b))
}

// reread is a value as JSON gives it back.
func reread(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return err.Error()
	}
	return out
}

func differsAt(path string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return path
		}
		all := maps.Clone(x)
		maps.Copy(all, y)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if at := differsAt(path+"/"+name, x[name], y[name]); at != "" {
				return at
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return path
		}
		for i := range x {
			if at := differsAt(fmt.Sprintf("%s/%d", path, i), x[i], y[i]); at != "" {
				return at
			}
		}
		return ""
	}
	if a != b {
		return path
	}
	return ""
}

// sameRest names the members that neither frame, plan nor seed decide about and
// that do not hold.
func sameRest(rec *api.SampleRecord, again *Drawn) (wrong []string) {
	d := &rec.Draw
	no := func(path string, ok bool) {
		if !ok {
			wrong = append(wrong, path)
		}
	}
	sample, reserve, replaced, same := 0, 0, 0, int64(0)
	for _, u := range again.Units {
		if u.Reserve {
			reserve++
		} else {
			sample++
		}
	}
	for _, u := range rec.Units {
		if u.Replaces != "" {
			replaced++
		}
	}
	for _, o := range d.Earlier {
		if o.SameFrame && o.FrameHash == d.FrameHash {
			same++
		}
	}
	no("draw/state", d.State == drawn)
	no("draw/drawn", d.Drawn == sample)
	no("draw/reserve", d.Reserve == reserve)
	no("draw/replaced", d.Replaced == replaced)
	no("draw/stages", differs(d.Stages, again.Stages) == "")
	no("draw/designId", d.DesignID == rec.Design.DesignID)
	no("draw/projectId", d.ProjectID == rec.Design.ProjectID)
	no("draw/version", d.Version == rec.Design.Version)
	if rec.Format == firstFormat && len(d.Entries) == 0 {
		return wrong
	}
	no("draw/earlier", same == min(d.EarlierOfFrame, maxEarlier))
	if rec.Format == Masked && len(d.Entries) == 0 {
		return wrong
	}
	for _, path := range entriesHold(rec, again) {
		if !slices.Contains(wrong, path) {
			wrong = append(wrong, path)
		}
	}
	return wrong
}

func secondHolds(d *api.SampleDraw) bool {
	if d.Second == nil || d.CommittedAt.IsZero() || d.SecondAt.Before(d.CommittedAt) {
		return false
	}
	if d.Second.Source == "beacon" {
		return beaconHolds(d)
	}
	return d.SecondBy != d.CommittedBy && (d.Second.Party == "" || d.Second.Party == d.SecondBy)
}

// sameSample says where a published sample differs from the draw; "" when it
// does not.
func sameSample(again *Drawn, units []api.SampleUnit) string {
	published := map[string]api.SampleUnit{}
	n := 0
	for _, u := range units {
		published[u.Unit] = u
		if u.Replaces == "" {
			n++
		}
	}
	want := 0
	for i, u := range again.Units {
		if u.Reserve {
			continue
		}
		want++
		p, ok := published[u.Unit.Unit]
		switch {
		case !ok:
			return "The draw gives " + u.Unit.Unit + ", which was not published."
		case p.Replaces != "" || p.Place != i+1 || p.Stratum != u.Stratum || p.Cluster != u.Cluster || p.Rank != u.Rank.String():
			return "The draw gives " + u.Unit.Unit + fmt.Sprintf(" at place %d, and it was published as something else.", i+1)
		}
	}
	if n != want {
		return fmt.Sprintf("The draw gives %d households, %d were published.", want, n)
	}
	return ""
}

// sameReplacements names a replacement that was not the next one, or that the two
// records describe differently; "" when there is none.
func sameReplacements(p *Plan, again *Drawn, units []api.SampleUnit) string {
	order := map[string][]int{} // places in the draw
	for i, u := range again.Units {
		if u.Reserve {
			order[cellOf(p, u.Unit)] = append(order[cellOf(p, u.Unit)], i)
		}
	}
	used, by := map[string]int{}, map[string]api.SampleUnit{}
	for _, u := range units {
		by[u.Unit] = u
	}
	for _, u := range sortedByPlace(units) {
		if wrong := sameSwap(u, by); wrong != "" {
			return wrong
		}
		if u.Replaces == "" {
			continue
		}
		cell := cellOf(p, Unit{u.Unit, u.Stratum, u.Cluster})
		at := used[cell]
		if at >= len(order[cell]) || again.Units[order[cell][at]].Unit.Unit != u.Unit {
			return u.Unit + " was used as a replacement, but another one came next."
		}
		if i := order[cell][at]; u.Place != i+1 || u.Rank != again.Units[i].Rank.String() {
			return u.Unit + " has another place or rank in the draw."
		}
		used[cell]++
		if u.Reason == "" {
			return u.Unit + " was used as a replacement without a reason."
		}
	}
	return ""
}

// sameSwap says where a unit and those that it replaces, or is replaced by, are
// inconsistent.
func sameSwap(u api.SampleUnit, by map[string]api.SampleUnit) string {
	state := drawn
	switch {
	case u.ReplacedBy != "":
		state = "replaced"
	case u.Replaces != "":
		state = "replacement"
	}
	if u.State != state {
		return u.Unit + " has the state " + u.State + ", and must have " + state + "."
	}
	if u.Replaces != "" && by[u.Replaces].ReplacedBy != u.Unit {
		return u.Unit + " replaces " + u.Replaces + ", which is not replacedBy it."
	}
	if u.ReplacedBy == "" {
		return ""
	}
	next, ok := by[u.ReplacedBy]
	switch {
	case !ok || next.Replaces != u.Unit:
		return u.Unit + " is replacedBy " + u.ReplacedBy + ", which does not replace it."
	case u.Reason == "" || u.By == "" || u.At.IsZero():
		return u.Unit + " was replaced without reason, by or at."
	case next.ReplacedBy == "" && (next.Reason != u.Reason || next.By != u.By || !next.At.Equal(u.At)):
		return u.Unit + " and " + next.Unit + ", which replaces it, differ in reason, by or at."
	}
	return ""
}

func sortedByPlace(units []api.SampleUnit) []api.SampleUnit {
	out := slices.Clone(units)
	order.Sort(out, func(a, b api.SampleUnit) int { return a.Place - b.Place })
	return out
}

// VerifyRecord checks a published record from a file.
func VerifyRecord(rec *api.SampleRecord) (*api.SampleCheck, error) {
	if rec.Format != Format && rec.Format != firstFormat && rec.Format != Masked {
		return nil, fmt.Errorf("the file is not a record of a draw: its format is %q, not %q", rec.Format, Format)
	}
	lines, ok := cutHeader(rec.Frame)
	if !ok {
		return nil, fmt.Errorf("the frame does not begin with the line %q", Header[:len(Header)-1])
	}
	sum := newHasher()
	sum.add(lines)
	return Verify(rec, sum.String(), func(visit func(Unit) error) error { return readLines(lines, visit) }), nil
}

func cutHeader(frame string) (string, bool) {
	if len(frame) < len(Header) || frame[:len(Header)] != Header {
		return "", false
	}
	return frame[len(Header):], true
}
