package survey

import (
	"encoding/hex"
	"fmt"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// checkParts notes what is wrong with stages, clusters, totals and the record of
// an outside draw.
func (s *Sampling) checkParts(c *fault.Checks, at string) {
	check.OneOf(c, at+"/clusterSelection", s.ClusterSelection, "equal", "size")
	if len(s.Stages) > maxStages {
		c.Add(at+"/stages", "too_many", fmt.Sprintf("There may be at most %d stages: clusters, and households in them. For a sample with more stages, give the first and the last; the variance comes from the first.", maxStages))
	} else {
		for i := range s.Stages {
			s.checkStage(c, fmt.Sprintf("%s/stages/%d", at, i), &s.Stages[i])
		}
	}
	s.checkClusters(c, at+"/clusters")
	CheckTotals(c, at+"/totals", s.Totals)
	checkElsewhere(c, at+"/drawnElsewhere", s.DrawnElsewhere)
}

func (s *Sampling) checkStage(c *fault.Checks, at string, one *api.SamplingStage) {
	c.Require(one.Unit != "", at+"/unit")
	check.Short(c, at+"/unit", one.Unit, maxStratum)
	counted(c, at, one.Units, one.Drawn)
	if len(one.Strata) > MaxStrata {
		c.Add(at+"/strata", "too_many", fmt.Sprintf("There may be at most %d strata.", MaxStrata))
		return
	}
	seen := map[string]bool{}
	for i, h := range one.Strata {
		here := fmt.Sprintf("%s/strata/%d", at, i)
		c.Require(h.Name != "", here+"/name")
		if h.Name != "" && !s.Has(h.Name) {
			c.Add(here+"/name", "unknown", "The sampling has no stratum of this name.")
		}
		if seen[h.Name] {
			c.Add(here+"/name", "duplicate", "Another entry already has this name.")
		}
		seen[h.Name] = true
		counted(c, here, h.Units, h.Drawn)
	}
}

// counted notes impossible counts: no more can be drawn than there are.
func counted(c *fault.Checks, at string, units, drawn *float64) {
	whole(c, at+"/units", units)
	whole(c, at+"/drawn", drawn)
	if units != nil && drawn != nil && *drawn > *units {
		c.Add(at+"/drawn", "out_of_range", "No more can be drawn than there are.")
	}
}

func (s *Sampling) checkClusters(c *fault.Checks, at string) {
	if len(s.Clusters) > maxClusters {
		c.Add(at, "too_many", "There may be at most 10,000 clusters.")
		return
	}
	seen := make(map[string]bool, len(s.Clusters))
	for i, one := range s.Clusters {
		here := fmt.Sprintf("%s/%d", at, i)
		c.Require(one.Name != "", here+"/name")
		check.Short(c, here+"/name", one.Name, maxStratum)
		if seen[one.Name] && one.Name != "" {
			c.Add(here+"/name", "duplicate", "Another cluster has this name.")
		}
		seen[one.Name] = true
		if one.Stratum != "" && !s.Has(one.Stratum) {
			c.Add(here+"/stratum", "unknown", "The sampling has no stratum of this name.")
		}
		whole(c, here+"/size", one.Size)
		if len(c.Fields()) > MaxFields {
			return
		}
	}
}

// clusterSet are the clusters that may be used; nil for any.
func (s *Sampling) clusterSet() map[string]bool {
	if len(s.Clusters) == 0 {
		return nil
	}
	set := make(map[string]bool, len(s.Clusters))
	for _, one := range s.Clusters {
		set[one.Name] = true
	}
	return set
}

// CheckTotals notes what is wrong with known totals of a population.
func CheckTotals(c *fault.Checks, at string, totals []api.SurveyTotal) {
	if len(totals) > maxTotals {
		c.Add(at, "too_many", fmt.Sprintf("There may be at most %d totals.", maxTotals))
		return
	}
	seen := map[string]bool{}
	for i, t := range totals {
		here := fmt.Sprintf("%s/%d", at, i)
		c.Require(t.By != "", here+"/by")
		check.Short(c, here+"/by", t.By, MaxName)
		check.Short(c, here+"/source", t.Source, maxNote)
		if seen[t.By] {
			c.Add(here+"/by", "duplicate", "Other totals have the same subject.")
		}
		seen[t.By] = true
		c.Require(len(t.Values) > 0, here+"/values")
		if len(t.Values) > maxValues {
			c.Add(here+"/values", "too_many", fmt.Sprintf("There may be at most %d values.", maxValues))
		}
		for name, v := range t.Values {
			if !(v > 0 && v <= maxSize) || len(name) > MaxName {
				c.Add(here+"/values", "out_of_range", "Each value must be above 0 and at most 1,000,000,000, under a name of at most 200 characters.")
				break
			}
		}
	}
}

func checkElsewhere(c *fault.Checks, at string, e *api.SurveyElsewhere) {
	if e == nil {
		return
	}
	c.Require(e.Method != "", at+"/method")
	check.Short(c, at+"/method", e.Method, maxNote)
	c.Require(e.By != "", at+"/by")
	check.Short(c, at+"/by", e.By, MaxName)
	c.Require(!e.At.IsZero(), at+"/at")
	check.Short(c, at+"/remark", e.Remark, maxNote)
	c.Require(e.DocumentHash != "", at+"/documentHash")
	if !IsHash(e.DocumentHash) && e.DocumentHash != "" {
		c.Add(at+"/documentHash", "invalid", "The value must be a SHA-256 as 64 hex digits in lower case.")
	}
}

// IsHash reports whether s is a SHA-256 as 64 hex digits in lower case.
func IsHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && hex.EncodeToString(b) == s
}
