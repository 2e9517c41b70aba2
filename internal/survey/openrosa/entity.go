package openrosa

import (
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// The specification of ODK Entities that forms keep.
const (
	entitiesNamespace = "http://www.opendatakit.org/xforms/entities"
	entitiesVersion   = "2024.1.0"
)

// VersionColumn is the column of an entity list with the version of each twin.
const VersionColumn = "__version"

// entityLists makes the lists of twins that the form looks at. They come first: their
// names are fixed, and those of other lists give way.
func (b *builder) entityLists() {
	add := func(name string) {
		l := b.list(name)
		l.src, l.twins = "jr://file-csv/"+name+".csv", true
	}
	if e := b.t.Entity; e != nil && e.Updates() {
		add(e.List)
	}
	var walk func([]form.Question)
	walk = func(qs []form.Question) {
		for i := range qs {
			if qs[i].List != "" {
				add(qs[i].List)
			}
			walk(qs[i].Questions)
		}
	}
	for i := range b.t.Sections {
		walk(b.t.Sections[i].Questions)
	}
}

// entity says which twin is made or changed. What the device calculates of it counts
// for the list it keeps itself; the server reads which one it is, and of which version.
func (b *builder) entity(meta *item, e *form.Entity) *item {
	here := &item{name: "entity", path: meta.path + "/entity"}
	at := func(name, value string, bind ...pair) *item {
		i := &item{name: name, path: here.path + "/@" + name, value: value, bind: bind}
		here.fields = append(here.fields, i)
		return i
	}
	xpath := func(member, source string, want xlsform.Want) string {
		lost := b.lost("/entity")
		return b.names.Asks(source, want, b.used, func(_, cause string) { lost(member, cause) })
	}
	truth := func(source string) []pair {
		return []pair{{"type", "string"}, {"readonly", "true()"}, {"calculate", "if(" + xpath("condition", source, xlsform.Condition) + ", '1', '')"}}
	}
	at("dataset", e.List)
	id := at("id", "", pair{"type", "string"}, pair{"readonly", "true()"})
	picked := xpath("id", e.ID, xlsform.Value)
	if e.ID == "" {
		id.set = "uuid()"
	} else {
		id.bound("calculate", picked)
	}
	switch {
	case e.Create != "":
		at("create", "", truth(e.Create)...)
	case e.Creates():
		at("create", "1")
	}
	if e.Updates() {
		if e.Update != "" {
			at("update", "", truth(e.Update)...)
		} else {
			at("update", "1")
		}
		for _, c := range [][2]string{{"baseVersion", VersionColumn}, {"trunkVersion", "__trunkVersion"}, {"branchId", "__branchId"}} {
			at(c[0], "", pair{"type", "string"}, pair{"readonly", "true()"}, pair{"calculate", "instance('" + e.List + "')" + xlsform.Items + "[name = " + picked + "]/" + c[1]})
		}
	}
	if e.Label != "" {
		here.add(&item{name: "label", path: here.path + "/label", bind: []pair{{"type", "string"}, {"readonly", "true()"}, {"calculate", xpath("label", e.Label, xlsform.Value)}}})
	}
	return here
}

// Entity is what a device says about the twin that a submission makes or changes.
type Entity struct {
	ID           string
	BaseVersion  int64  // that the device knew; 0 when it does not say
	TrunkVersion int64  // the one of the server that changes on the device began with
	BranchID     string // names these changes
}

// Entity returns what the device says about a twin, nil for nothing.
func (in *Instance) Entity() *Entity {
	meta := in.root.kid("meta")
	if meta == nil || meta.kid("entity") == nil {
		return nil
	}
	n := meta.kid("entity")
	return &Entity{ID: n.attr("id"), BaseVersion: version(n.attr("baseVersion")), TrunkVersion: version(n.attr("trunkVersion")), BranchID: n.attr("branchId")}
}

// version reads a version; anything else is 0, as the specification says.
func version(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
