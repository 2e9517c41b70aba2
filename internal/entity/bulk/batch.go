package bulk

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Limits.
const (
	MaxOperations = 1000    // of a batch
	MaxBatch      = 8 << 20 // bytes of its body
)

// Batch is many operations in one request: either all or none, or each
// separately. Every operation obeys the rules of the single route.
type Batch struct {
	Atomic     bool        `json:"atomic,omitzero" doc:"All or nothing. Without it each operation succeeds or fails by itself."`
	Operations []Operation `json:"operations" doc:"1 to 1000, done in their order."`
}

// Operation is one change of a batch. did, target and the targets of a new twin
// may be $0, $1, …: the twin that this operation of the batch creates.
type Operation struct {
	Op           string                `json:"op" enum:"create,replace,patch,transition,deactivate,relate,unrelate"`
	DID          string                `json:"did,omitzero" doc:"The twin; for every operation but create." example:"$0"`
	IfMatch      string                `json:"ifMatch,omitzero" doc:"Like the header: required for replace, patch and deactivate. * matches any revision." example:"*"`
	Entity       *entity.Draft         `json:"entity,omitzero" doc:"For create and replace."`
	Patch        entity.Object         `json:"patch,omitzero" doc:"For patch: a merge patch of the record."`
	To           entity.Status         `json:"to,omitzero" enum:"active,suspended,completed,deactivated" doc:"For transition."`
	Relationship *entity.RelationDraft `json:"relationship,omitzero" doc:"For relate."`
	ID           string                `json:"id,omitzero" doc:"For unrelate: id of the relationship."`
	Reason       string                `json:"reason,omitzero" doc:"Why, for the history; at most 1,000 characters."`
}

// SchemaName is the name that clients know it by.
func (Batch) SchemaName() string { return "Batch" }

// SchemaName is the name that clients know it by.
func (Operation) SchemaName() string { return "BatchOperation" }

// operations lists all operations, with the members each needs, and may have
// besides op.
var operations = map[string]struct{ needs, may []string }{
	"create":     {needs: []string{"entity"}},
	"replace":    {needs: []string{"did", "entity"}, may: []string{"ifMatch", "reason"}},
	"patch":      {needs: []string{"did", "patch"}, may: []string{"ifMatch", "reason"}},
	"transition": {needs: []string{"did", "to"}, may: []string{"ifMatch", "reason"}},
	"deactivate": {needs: []string{"did"}, may: []string{"ifMatch", "reason"}},
	"relate":     {needs: []string{"did", "relationship"}},
	"unrelate":   {needs: []string{"did", "id"}, may: []string{"reason"}},
}

// given lists the members an operation has.
func (o *Operation) given() map[string]bool {
	return map[string]bool{
		"did": o.DID != "", "ifMatch": o.IfMatch != "", "entity": o.Entity != nil, "patch": !o.Patch.IsZero(), "to": o.To != "",
		"relationship": o.Relationship != nil, "id": o.ID != "", "reason": o.Reason != "",
	}
}

// validate names everything that is wrong with the form of a batch.
func (b *Batch) validate() error {
	var c fault.Checks
	if n := len(b.Operations); n == 0 || n > MaxOperations {
		c.Add("/operations", "out_of_range", fmt.Sprintf("A batch has 1 to %d operations.", MaxOperations))
		return c.Err("BATCH_INVALID", "The batch is not valid.")
	}
	for i := range b.Operations {
		o := &b.Operations[i]
		at := fmt.Sprintf("/operations/%d", i)
		rule, ok := operations[o.Op]
		if !ok {
			c.Add(at+"/op", "unknown", "The operation must be create, replace, patch, transition, deactivate, relate or unrelate.")
			continue
		}
		given := o.given()
		for _, name := range rule.needs {
			c.Require(given[name], at+"/"+name)
			delete(given, name)
		}
		for _, name := range rule.may {
			delete(given, name)
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if given[name] {
				c.Add(at+"/"+name, "not_allowed", "This member does not go with "+o.Op+".")
			}
		}
		b.checkRefs(&c, i)
	}
	return c.Err("BATCH_INVALID", "The batch is not valid.")
}

// refs calls fn with every place of an operation that may name another one.
func (o *Operation) refs(fn func(pointer string, did *string)) {
	fn("/did", &o.DID)
	if o.Relationship != nil {
		fn("/relationship/target", &o.Relationship.Target)
	}
	if o.Entity == nil {
		return
	}
	for i := range o.Entity.Relationships {
		fn(fmt.Sprintf("/entity/relationships/%d/target", i), &o.Entity.Relationships[i].Target)
	}
}

// checkRefs requires that references lead to a twin that was made before.
func (b *Batch) checkRefs(c *fault.Checks, i int) {
	b.Operations[i].refs(func(pointer string, did *string) {
		n, ok := ref(*did)
		if ok && (n < 0 || n >= i || b.Operations[n].Op != "create") {
			c.Add(fmt.Sprintf("/operations/%d%s", i, pointer), "invalid_reference", "The value must name an earlier operation that creates a twin.")
		}
	})
}

// ref reads "$3". ok means that it is meant as a reference; n is -1 when it is
// not a valid one.
func ref(text string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(text, "$")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || strconv.Itoa(n) != digits {
		return -1, true
	}
	return n, true
}

// refsOf lists the operations one refers to.
func (o *Operation) refsOf() []int {
	var out []int
	o.refs(func(_ string, did *string) {
		if n, ok := ref(*did); ok {
			out = append(out, n)
		}
	})
	return out
}

// place moves the pointers of a fault into the batch.
func (o *Operation) place(i int, f *fault.Error) *fault.Error {
	at := fmt.Sprintf("/operations/%d", i)
	inside := map[string]string{"create": "/entity", "replace": "/entity", "patch": "/patch", "relate": "/relationship"}[o.Op]
	moved := *f
	moved.Fields = nil
	for _, d := range f.Fields {
		switch {
		case d.Pointer == "header/If-Match":
			d.Pointer = at + "/ifMatch"
		case d.Pointer == "/reason" || strings.HasPrefix(d.Pointer, "query/"):
			d.Pointer = at + "/" + d.Pointer[strings.LastIndex(d.Pointer, "/")+1:]
		default:
			d.Pointer = at + inside + d.Pointer
		}
		moved.Fields = append(moved.Fields, d)
	}
	if len(moved.Fields) == 0 {
		moved.Fields = []fault.Field{{Pointer: at, Code: strings.ToLower(f.Code), Detail: f.Message}}
	}
	return &moved
}
