package survey

import (
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
)

// Collector is somebody who collects answers.
type Collector struct {
	DID      string     `json:"did" example:"did:ixo:agent/123"`
	Name     string     `json:"name,omitzero" example:"Asha"`
	Training *Schooling `json:"training,omitzero"`
}

// plainCollector is a Collector that reads its own members.
type plainCollector Collector

// UnmarshalJSONFrom reads the object, or a plain DID.
func (c *Collector) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*c = Collector{}
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, &c.DID)
	}
	return json.UnmarshalDecode(dec, (*plainCollector)(c))
}

// Schema describes a collector in the API reference.
func (Collector) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString, Description: "DID of the collector."},
		{Type: huma.TypeObject, Required: []string{"did"}, Properties: map[string]*huma.Schema{
			"did":  {Type: huma.TypeString, Description: "DID of the collector."},
			"name": {Type: huma.TypeString},
			"training": {Type: huma.TypeObject, Properties: map[string]*huma.Schema{
				"completedAt": {Type: huma.TypeString, Format: "date-time"},
				"note":        {Type: huma.TypeString},
			}},
		}},
	}}
}

// Trained reports whether the collector has completed the training.
func (c *Collector) Trained() bool { return c.Training != nil && !c.Training.CompletedAt.IsZero() }

func checkCollectors(c *fault.Checks, at string, list []Collector) {
	if len(list) > maxCollectors {
		c.Add(at, "too_many", fmt.Sprintf("There may be at most %d.", maxCollectors))
		return
	}
	seen := map[string]bool{}
	for i, one := range list {
		here := fmt.Sprintf("%s/%d", at, i)
		c.Require(one.DID != "", here+"/did")
		CheckDID(c, here+"/did", one.DID)
		check.Short(c, here+"/name", one.Name, MaxName)
		if one.Training != nil {
			check.Short(c, here+"/training/note", one.Training.Note, maxNote)
		}
		if seen[one.DID] && one.DID != "" {
			c.Add(here+"/did", "duplicate", "This collector is already in the list.")
		}
		seen[one.DID] = true
	}
}

// Veiled returns assignments as a caller sees them: in those that name
// households, the households and their visitors appear as the caller may know
// them. Those of one collector stay unchanged.
func Veiled(list []Assignment, x privacy.Sight, except string) []Assignment {
	out := slices.Clone(list)
	for i := range out {
		if except != "" && out[i].Collector == except {
			continue
		}
		homes := slices.Clone(out[i].Households)
		for j := range homes {
			homes[j] = x.Household(homes[j])
		}
		if len(homes) > 0 {
			out[i].Households, out[i].Collector = homes, x.Person(out[i].Collector)
		}
	}
	return out
}

func checkAssignments(c *fault.Checks, at string, list []Assignment, s *Sampling) {
	if len(list) > maxRules {
		c.Add(at, "too_many", fmt.Sprintf("There may be at most %d.", maxRules))
		return
	}
	homes := map[string]bool{}
	for i, a := range list {
		here := fmt.Sprintf("%s/%d", at, i)
		c.Require(a.Collector != "", here+"/collector")
		CheckDID(c, here+"/collector", a.Collector)
		names(c, here+"/strata", a.Strata, maxRuleNames, func(at, one string) {
			check.Short(c, at, one, maxStratum)
			if s != nil && !s.Has(one) {
				c.Add(at, "unknown", "The sampling has no stratum of this name.")
			}
		})
		names(c, here+"/areas", a.Areas, maxRuleNames, func(at, one string) { check.Short(c, at, one, maxStratum) })
		if a.Load < 0 || a.Load > 1e5 {
			c.Add(here+"/load", "out_of_range", "The value must be 1 to 100,000.")
		}
		for j, home := range a.Households {
			CheckDID(c, fmt.Sprintf("%s/households/%d", here, j), home)
			if homes[home] {
				c.Add(fmt.Sprintf("%s/households/%d", here, j), "duplicate", "The household is already assigned.")
			}
			if homes[home] = true; len(homes) > maxRuleHomes {
				c.Add(here+"/households", "too_many", fmt.Sprintf("All assignments together may name at most %d households.", maxRuleHomes))
				return
			}
		}
	}
}

// Duties is an index of assignments. It never changes.
type Duties struct {
	rules []Assignment
	homes map[string]string // household → collector
}

// NewDuties indexes assignments.
func NewDuties(list []Assignment) *Duties {
	d := &Duties{homes: map[string]string{}}
	for _, a := range list {
		for _, home := range a.Households {
			d.homes[home] = a.Collector
		}
		if len(a.Households) == 0 || len(a.Strata)+len(a.Areas) > 0 {
			d.rules = append(d.rules, a)
		}
	}
	return d
}

// Of returns who visits a household according to the assignments, "" when
// anybody may.
func (d *Duties) Of(household, stratum, area string) string {
	if who := d.homes[household]; who != "" {
		return who
	}
	best, who := 0.0, ""
	for _, a := range d.rules {
		if !fits(a.Strata, stratum) || !fits(a.Areas, area) {
			continue
		}
		if score := share(a.Collector, household, max(a.Load, 1)); who == "" || score > best {
			best, who = score, a.Collector
		}
	}
	return who
}

// Gives reports whether a collector may be assigned anything.
func (d *Duties) Gives(collector string) bool {
	for _, who := range d.homes {
		if who == collector {
			return true
		}
	}
	return slices.ContainsFunc(d.rules, func(a Assignment) bool { return a.Collector == collector })
}

func fits(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
