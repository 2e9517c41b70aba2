package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// words are the values there are of fields that have no others.
func words() map[string][]string {
	return map[string][]string{
		"status":              {"draft", "active", "suspended", "completed", "deactivated"},
		"class":               {"physical", "cognitive", "system", "oracle"},
		"domainType":          protocol.DomainTypes(),
		"verification.status": {"unverified", "pending", "verified", "rejected", "revoked", "expired"},
	}
}

// checkWords refuses a filter that compares such a field with a value that no
// twin can have: it is a slip of the pen, and its answer would be empty.
func checkWords(e *rql.Expr) error {
	for _, a := range e.Args {
		if err := checkWords(a); err != nil {
			return err
		}
	}
	known, ok := words()[strings.Join(e.Field, ".")]
	if !ok || e.Op != rql.Eq && e.Op != rql.Ne && e.Op != rql.In {
		return nil
	}
	for _, v := range e.Values {
		if s, isText := v.V.(string); isText && !slices.Contains(known, s) {
			return fault.New(fault.Invalid, "INVALID_FILTER", "The filter is not valid.").With(fault.Field{
				Pointer: "query/filter", Code: "not_allowed", Detail: fmt.Sprintf("At character %d: %s must be %s.", e.Pos, e.Field, oneOf(known)),
			})
		}
	}
	return nil
}

// oneOf lists words for people.
func oneOf(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
