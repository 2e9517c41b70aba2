package survey

import (
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Groups of households.
const (
	GroupAdopter    = "adopter"
	GroupComparison = "comparison"
)

// HouseholdDraft is an uploaded household. If it is on the list already,
// missing members stay unchanged.
type HouseholdDraft struct {
	HouseholdID string       `json:"householdId" doc:"DID of the household." example:"did:ixo:household/123"`
	Stratum     *string      `json:"stratum,omitzero" doc:"One of the strata of the sampling, when it has any." example:"rural"`
	Group       *string      `json:"group,omitzero" enum:"adopter,comparison"`
	Area        *string      `json:"area,omitzero" doc:"Any word; assignments find the household by it." example:"Kibera"`
	Cluster     *string      `json:"cluster,omitzero" doc:"First-stage unit of a cluster or multistage sample, such as a village; one of sampling.clusters, when there are any."`
	Collector   *string      `json:"collector,omitzero" doc:"DID of the collector who is to visit it; takes precedence over all assignments."`
	Location    *Location    `json:"location,omitzero"`
	Attributes  *form.Object `json:"attributes,omitzero" doc:"For expressions; an object of at most 2 KiB. No names or telephone numbers."`

	// Whole says that missing members are removed.
	Whole bool `json:"-"`
}

// SchemaName is the name that clients know it by.
func (HouseholdDraft) SchemaName() string { return "PlanHouseholdDraft" }

func (d *HouseholdDraft) check(c *fault.Checks, at string, s *Sampling, clusters map[string]bool) {
	c.Require(d.HouseholdID != "", at+"/householdId")
	CheckDID(c, at+"/householdId", d.HouseholdID)
	if v := d.Stratum; v != nil && *v != "" {
		check.Short(c, at+"/stratum", *v, maxStratum)
		if !s.Has(*v) {
			c.Add(at+"/stratum", "unknown", "The sampling has no stratum of this name.")
		}
	}
	if d.Group != nil {
		check.OneOf(c, at+"/group", *d.Group, GroupAdopter, GroupComparison)
	}
	if d.Area != nil {
		check.Short(c, at+"/area", *d.Area, maxStratum)
	}
	if v := d.Cluster; v != nil && *v != "" {
		check.Short(c, at+"/cluster", *v, maxStratum)
		if clusters != nil && !clusters[*v] {
			c.Add(at+"/cluster", "unknown", "The sampling has no cluster of this name.")
		}
	}
	if d.Collector != nil {
		CheckDID(c, at+"/collector", *d.Collector)
	}
	if l := d.Location; l != nil && !(l.Lat >= -90 && l.Lat <= 90 && l.Lon >= -180 && l.Lon <= 180) {
		c.Add(at+"/location", "out_of_range", "lat must be -90 to 90 and lon -180 to 180.")
	}
	if a := d.Attributes; a != nil && !a.IsZero() {
		// Without white space the same value is the same text.
		if err := a.Compact(); err != nil || a.Kind() != '{' || len(a.Value) > maxAttributes {
			c.Add(at+"/attributes", "invalid", "The value must be an object of at most 2 KiB.")
		}
	}
}

// CheckHouseholds checks an upload and names everything that is wrong with it.
// The fault is HOUSEHOLDS_INVALID.
func CheckHouseholds(list []HouseholdDraft, s *Sampling) error {
	var c fault.Checks
	if len(list) == 0 {
		c.Require(false, "/items")
	}
	if len(list) > MaxUpload {
		c.Add("/items", "too_many", fmt.Sprintf("There may be at most %d households in one call.", MaxUpload))
		return c.Err("HOUSEHOLDS_INVALID", "The list of households is not valid.")
	}
	seen, clusters := make(map[string]bool, len(list)), s.clusterSet()
	for i := range list {
		at := fmt.Sprintf("/items/%d", i)
		list[i].check(&c, at, s, clusters)
		if seen[list[i].HouseholdID] {
			c.Add(at+"/householdId", "duplicate", "The household is already in this list.")
		}
		seen[list[i].HouseholdID] = true
		if len(c.Fields()) > MaxFields {
			break
		}
	}
	return Limited(c.Err("HOUSEHOLDS_INVALID", "The list of households is not valid."))
}
