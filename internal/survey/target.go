package survey

import (
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Target is the target of a sample design, with which surveys that name it must
// agree.
type Target struct {
	ParameterType string
	Tail          string // "" where it is not said
	Confidence    float64
	Precision     *float64
	MarginOfError *float64
	Size          float64  // households it draws
	FrameHashes   []string // of its frames

	// What to use, by the methodology, for a figure that misses the target.
	OnMiss    string
	MissLimit *float64
}

// CheckTarget notes where the sampling contradicts its design; t is nil when it
// names none. The target that was announced is the one that is applied, and the
// hash of a population is that of a frame.
func (s *Sampling) CheckTarget(c *fault.Checks, t *Target) {
	const at = "/sampling"
	if t == nil {
		if s.PopulationHash != "" {
			c.Add(at+"/populationHash", "unknown", "No frame has this hash. Name the sample design (designId) that the frame belongs to; for a draw made elsewhere give drawnElsewhere.documentHash.")
		}
		return
	}
	if s.PopulationHash != "" && !slices.Contains(t.FrameHashes, s.PopulationHash) {
		c.Add(at+"/populationHash", "unknown", "No frame of the design has this hash.")
	}
	if s.ParameterType != "" && s.ParameterType != t.ParameterType {
		c.Add(at+"/parameterType", "mismatch", "The design is for a "+t.ParameterType+".")
	}
	if s.Tail != "" && t.Tail != "" && s.Tail != t.Tail {
		c.Add(at+"/tail", "mismatch", "The design has tail "+t.Tail+".")
	}
	for _, one := range []struct {
		name      string
		got, want *float64
	}{{"confidence", s.Confidence, &t.Confidence}, {"precision", s.Precision, t.Precision}, {"marginOfError", s.MarginOfError, t.MarginOfError}} {
		switch {
		case one.got == nil:
		case one.want == nil:
			c.Add(at+"/"+one.name, "mismatch", "The design has none. Leave it out, or change the design.")
		case *one.got != *one.want:
			c.Add(at+"/"+one.name, "mismatch", fmt.Sprintf("The target of the design is %v.", *one.want))
		}
	}
}

// Adopt returns the sampling with the target of its methodology, nil for none. It
// notes contradictions: the target that was announced is the one that is applied.
func (s *Sampling) Adopt(c *fault.Checks, t *Target) *Sampling {
	if t == nil || s == nil {
		return s
	}
	const at = "/sampling"
	out := *s
	for _, one := range []struct {
		name string
		got  *string
		want string
	}{{"parameterType", &out.ParameterType, t.ParameterType}, {"tail", &out.Tail, t.Tail}, {"onMiss", &out.OnMiss, t.OnMiss}} {
		switch {
		case one.want == "" || *one.got == one.want:
		case *one.got == "":
			*one.got = one.want
		default:
			c.Add(at+"/"+one.name, "mismatch", fmt.Sprintf("The methodology requires %s, but the survey has %s.", one.want, *one.got))
		}
	}
	confidence := &t.Confidence
	if t.Confidence == 0 {
		confidence = nil
	}
	for _, one := range []struct {
		name string
		got  **float64
		want *float64
	}{{"confidence", &out.Confidence, confidence}, {"precision", &out.Precision, t.Precision}, {"marginOfError", &out.MarginOfError, t.MarginOfError}, {"missLimit", &out.MissLimit, t.MissLimit}} {
		switch {
		case one.want == nil:
		case *one.got == nil:
			*one.got = one.want
		case **one.got != *one.want:
			c.Add(at+"/"+one.name, "mismatch", fmt.Sprintf("The methodology requires %v, but the survey has %v.", *one.want, **one.got))
		}
	}
	return &out
}
