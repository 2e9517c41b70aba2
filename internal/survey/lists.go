package survey

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// listing is a survey whose entity lists are looked at.
type listing struct {
	s      *Service
	v, old *Survey // old is nil of a new one
	f      *form.Form
}

// check notes lists that the form names and the survey lacks, and lets area A
// check new ones: a filter that cannot be run would leave every phone without its
// form.
func (li *listing) check(ctx context.Context, c *fault.Checks) error {
	s, v, old, f := li.s, li.v, li.old, li.f
	for _, name := range f.Lists() {
		if !slices.ContainsFunc(v.EntityLists, func(l EntityList) bool { return l.Name == name }) {
			c.Add("/entityLists", "missing", "The template has an entity list "+name+". Define it in entityLists: its name, and the protocol and filter of its twins.")
		}
	}
	e := f.Template().Entity
	for i, l := range v.EntityLists {
		at := fmt.Sprintf("/entityLists/%d", i)
		makes := e != nil && e.List == l.Name
		if makes && e.Creates() && l.Type == "" {
			c.Add(at+"/type", "required", "The template makes twins of this list: give their type.")
		}
		if s.cfg.CheckList == nil || slices.ContainsFunc(c.Fields(), func(f fault.Field) bool { return len(f.Pointer) > len(at) && f.Pointer[:len(at)] == at }) {
			continue
		}
		if old != nil && i < len(old.EntityLists) && sameList(old.EntityLists[i], l) {
			continue
		}
		saved := l.Properties
		if makes {
			saved = append(slices.Clone(saved), f.Saved()...)
		}
		if err := noteList(c, at, s.cfg.CheckList(ctx, v.ProjectID, l, saved)); err != nil {
			return err
		}
	}
	return nil
}

// noteList notes a fault about a list.
func noteList(c *fault.Checks, at string, err error) error {
	f := fault.As(err)
	if err == nil || f == nil || f.Kind == fault.Internal || f.Kind == fault.Unavailable {
		return err
	}
	if len(f.Fields) == 0 {
		c.Add(at+"/protocol", "invalid", f.Message)
	}
	for _, one := range f.Fields {
		if one.Pointer == "" || one.Pointer[0] != '/' {
			one.Pointer = "/filter" // a parameter of the search
		}
		c.Add(at+one.Pointer, one.Code, one.Detail)
	}
	return nil
}

func sameList(a, b EntityList) bool {
	return a.Name == b.Name && a.Protocol == b.Protocol && a.Type == b.Type && a.Filter == b.Filter && a.Label == b.Label && slices.Equal(a.Properties, b.Properties)
}
