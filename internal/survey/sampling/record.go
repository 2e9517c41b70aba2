package sampling

import (
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
)

// Format names the form of a published record.
const Format = "hearth-sample-1"

// Verify makes a published draw again and reports whether everything in it follows:
// the frame has its hash, the first part was committed before the second came,
// the seed is made of both, and the sample and its replacements are those that
// the seed gives, in their order. frame reads the published lines; sum is the
// hash of them. It needs no server.
func Verify(rec *api.SampleRecord, sum string, frame Frame) *api.SampleCheck {
	d := &rec.Draw
	out := &api.SampleCheck{DrawID: d.DrawID, SoleSeed: d.SoleSeed}
	add := func(name string, ok bool, detail string) {
		if ok {
			detail = ""
		}
		out.Checks = append(out.Checks, api.SampleTest{Name: name, OK: ok, Detail: detail})
	}
	add("frame", sum == d.FrameHash, "The SHA-256 of the frame is "+sum+", the draw names "+d.FrameHash+".")
	if d.SoleSeed {
		out.Remarks = append(out.Remarks, "One party alone has named the seed: nothing shows that it was not chosen for its sample.")
	} else {
		add("commitment", Commitment(d.FirstPart) == d.Commitment, "The first part is not the one that was committed to.")
		add("second", secondHolds(d), "The second part did not come after the commitment, or not from where the commitment says.")
		add("seed", Join(d.FirstPart, d.SecondPart) == d.Seed, "The seed is not made of the two parts.")
		if d.Second != nil && d.Second.Source == "beacon" {
			out.Remarks = append(out.Remarks, fmt.Sprintf("Compare the second part with what %s published at %s.", d.Second.Beacon, d.Second.At.UTC().Format("2006-01-02 15:04:05 UTC")))
		}
	}
	again, err := Redraw(&d.Plan, d.Seed, frame)
	if err != nil {
		add("sample", false, err.Error())
	} else {
		wrong := sameSample(again, rec.Units)
		add("sample", wrong == "", wrong)
		wrong = sameReplacements(&d.Plan, again, rec.Units)
		add("replacements", wrong == "", wrong)
	}
	for _, o := range d.Earlier {
		if o.SameFrame {
			out.Remarks = append(out.Remarks, "The same frame was drawn or committed before, in "+o.DrawID+". Ask why.")
		}
	}
	out.Verified = !slices.ContainsFunc(out.Checks, func(t api.SampleTest) bool { return !t.OK })
	return out
}

func secondHolds(d *api.SampleDraw) bool {
	if d.Second == nil || d.CommittedAt.IsZero() || d.SecondAt.Before(d.CommittedAt) {
		return false
	}
	if d.Second.Source == "beacon" {
		return d.Second.At.After(d.CommittedAt) && !d.SecondAt.Before(d.Second.At)
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
		case p.Replaces != "" || p.Place != i+1 || p.Stratum != u.Stratum || p.Cluster != u.Cluster || p.Rank != "" && p.Rank != u.Rank.String():
			return "The draw gives " + u.Unit.Unit + fmt.Sprintf(" at place %d, and it was published as something else.", i+1)
		}
	}
	if n != want {
		return fmt.Sprintf("The draw gives %d households, %d were published.", want, n)
	}
	return ""
}

// sameReplacements says which replacement was not the next one; "" when all were.
func sameReplacements(p *Plan, again *Drawn, units []api.SampleUnit) string {
	order := map[string][]string{}
	for _, u := range again.Units {
		if u.Reserve {
			order[cellOf(p, u.Unit)] = append(order[cellOf(p, u.Unit)], u.Unit.Unit)
		}
	}
	used := map[string]int{}
	for _, u := range sortedByPlace(units) {
		if u.Replaces == "" {
			continue
		}
		cell := cellOf(p, Unit{u.Unit, u.Stratum, u.Cluster})
		if at := used[cell]; at >= len(order[cell]) || order[cell][at] != u.Unit {
			return u.Unit + " was taken as a replacement, and another one came next."
		}
		used[cell]++
		if u.Reason == "" {
			return u.Unit + " was taken as a replacement without a reason."
		}
	}
	return ""
}

func sortedByPlace(units []api.SampleUnit) []api.SampleUnit {
	out := slices.Clone(units)
	slices.SortFunc(out, func(a, b api.SampleUnit) int { return a.Place - b.Place })
	return out
}

// VerifyRecord checks a published record as a file has it.
func VerifyRecord(rec *api.SampleRecord) (*api.SampleCheck, error) {
	if rec.Format != Format {
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
