package fetch

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// The actions that list twins.
const (
	actTwins = "twins"
	actMine  = "myTwins"
)

// Arguments of the actions that list twins.
const (
	argType     = "type"
	argStatus   = "status"
	argProject  = "project"
	argFilter   = "filter"
	argProperty = "property"
	argIs       = "is"
)

// resNobody is the result for a caller who is not logged in.
const resNobody = "missing"

// usualStatus is the status of twins that are listed when a node names none.
const usualStatus = "active"

// TwinQuery selects twins. All conditions must hold.
type TwinQuery struct {
	Type, Status, Project string
	Filter                string // in the language of lists
	Limit                 int
}

var propertyForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// twinParams are what both actions take.
func twinParams(more ...machine.Param) []machine.Param {
	return append(more,
		machine.Param{Name: argStatus, About: "status; `" + usualStatus + "` by default"},
		machine.Param{Name: argProject, About: "DID of the project; may be missing"},
		machine.Param{Name: argFilter, About: "filter as in `GET /v1/entities`, without variables; may be missing"},
		machine.Param{Name: argProperty, About: "name of a property that has the value of `is`; may be missing"},
		machine.Param{Name: argIs, About: "that value; may show variables"},
	)
}

func (f *fetcher) twinActions() map[string]machine.Action {
	results := []string{resOK, menu.Empty, menu.Failed}
	return map[string]machine.Action{
		actTwins: {
			About: "gives twins of a type that `USSD_MENU_TWINS` names, at most " + fmt.Sprint(menu.MaxRows) + ", as `/twins` of its answer, each with `/did`, `/type`, `/status`, `/metadata/name` and " +
				"`/properties/…`; never what is personal. `empty` may be left out, then it goes where `ok` goes",
			Takes:   twinParams(machine.Param{Name: argType, About: "type of the twins, such as `Stove`"}),
			Answers: true, Valid: validTwins(true), Effect: true, Outside: f.twins, Results: results,
		},
		actMine: {
			About:   "gives the twins, of any type, that the customer who is logged in controls, in the form of `twins`. `missing`: nobody is logged in",
			Takes:   twinParams(machine.Param{Name: argType, About: "type of the twins; may be missing"}),
			Answers: true, Valid: validTwins(false), Effect: true, Outside: f.mine, Results: append(results, resNobody),
		},
	}
}

// validTwins looks at the constants of a node.
func validTwins(typed bool) func(with map[string]string) error {
	return func(with map[string]string) error {
		_, property := with[argProperty]
		_, is := with[argIs]
		switch {
		case typed && with[argType] == "":
			return errors.New("type is missing: which twins to list")
		case property != is:
			return errors.New("property and is go together")
		case property && !propertyForm.MatchString(with[argProperty]):
			return fmt.Errorf("property %q does not have the form %s", with[argProperty], propertyForm)
		}
		for _, name := range []string{argType, argStatus, argProject, argFilter} {
			if strings.ContainsAny(with[name], "{}") {
				return fmt.Errorf("%s shows no variables: what was typed could change which twins are listed; use property and is", name)
			}
		}
		return nil
	}
}

// twins lists twins of a type that the operator has granted.
func (f *fetcher) twins(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	if !slices.Contains(f.Types, c.With[argType]) {
		f.Log.WarnContext(ctx, "a menu lists twins of a type that it may not read: name it in USSD_MENU_TWINS", "setting", "USSD_MENU_TWINS", "kind", c.With[argType])
		return machine.Result{Name: menu.Failed}, nil
	}
	return f.list(ctx, c, "")
}

// mine lists the twins of the caller who is logged in.
func (f *fetcher) mine(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	if c.Account == "" || f.Customer == nil {
		return machine.Result{Name: resNobody}, nil
	}
	did, err := f.Customer(ctx, c.Account)
	if err != nil {
		f.Log.WarnContext(ctx, "the twins of a customer could not be listed", "err", err.Error())
		return machine.Result{Name: menu.Failed}, nil
	}
	if did == "" {
		return machine.Result{Name: resNobody}, nil
	}
	return f.list(ctx, c, did)
}

// list asks for twins, of a controller unless that is "".
func (f *fetcher) list(ctx context.Context, c machine.ActionCall, controller string) (machine.Result, error) {
	q := TwinQuery{Type: c.With[argType], Status: c.With[argStatus], Project: c.With[argProject], Limit: menu.MaxRows}
	if q.Status == "" {
		q.Status = usualStatus
	}
	var terms []string
	if t := c.With[argFilter]; t != "" {
		terms = append(terms, t)
	}
	if name, ok := c.With[argProperty]; ok {
		terms = append(terms, "eq(properties."+name+","+quoted(c.With[argIs])+")")
	}
	if controller != "" {
		terms = append(terms, "eq(controllers,"+quoted(controller)+")")
	}
	if q.Filter = strings.Join(terms, ","); len(terms) > 1 {
		q.Filter = "and(" + q.Filter + ")"
	}
	if f.Twins == nil {
		return machine.Result{Name: menu.Failed}, nil
	}
	found, err := f.Twins(ctx, q)
	if err != nil {
		f.Log.WarnContext(ctx, "twins could not be listed for a menu", "kind", q.Type, "err", err.Error())
		return machine.Result{Name: menu.Failed}, nil
	}
	all := make([]jsontext.Value, len(found))
	for i, body := range found {
		all[i] = body
	}
	doc, err := json.Marshal(map[string]any{"twins": all})
	if err != nil {
		return machine.Result{}, fmt.Errorf("render twins: %w", err)
	}
	set, err := values(doc, c.Answer)
	if err != nil {
		return machine.Result{}, fmt.Errorf("read twins: %w", err)
	}
	name := outcome(set, c.Answer)
	if len(all) == 0 {
		name = menu.Empty
	}
	return machine.Result{Name: name, Set: set}, nil
}

// quoted is a text in a filter, which can say nothing but itself.
func quoted(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return `""` // not UTF-8: no twin has it
	}
	return string(b)
}
