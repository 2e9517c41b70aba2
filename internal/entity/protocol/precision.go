package protocol

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Precision is the required precision of the figures behind claims of a type,
// and what replaces an imprecise one: the member precision of its verification.
// Surveys whose methodology is the protocol adopt it.
type Precision struct {
	Confidence    float64 `json:"confidence"`
	Precision     float64 `json:"precision"`     // relative
	MarginOfError float64 `json:"marginOfError"` // absolute
	ParameterType string  `json:"parameterType"` // proportion or mean
	Tail          string  `json:"tail"`          // two or one
	OnMiss        string  `json:"onMiss"`        // none, lower or upper
	Limit         float64 `json:"limit"`         // the relative precision beyond which no bound stands in
}

// FindPrecision reads the precision of a type of claims, or without a name of
// the only type that has any. names are all types that have one.
func FindPrecision(claimTypes jsontext.Value, name string) (found *Precision, names []string) {
	var types map[string]struct {
		Verification struct {
			Precision *Precision `json:"precision"`
		} `json:"verification"`
	}
	if !given(claimTypes) || json.Unmarshal(claimTypes, &types) != nil {
		return nil, nil
	}
	for _, one := range slices.Sorted(maps.Keys(types)) {
		if types[one].Verification.Precision != nil {
			names = append(names, one)
		}
	}
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	return types[name].Verification.Precision, names
}

// sensePrecision notes what is wrong with the member precision.
func sensePrecision(v jsontext.Value, at string, c *fault.Checks) {
	if !given(v) {
		return
	}
	var p Precision
	if v.Kind() != '{' || json.Unmarshal(v, &p) != nil {
		c.Add(at, "wrong_type", "The value must be an object: confidence, precision or marginOfError, parameterType, tail, onMiss and limit.")
		return
	}
	for _, one := range []struct {
		name     string
		v        float64
		low, top float64
	}{{"confidence", p.Confidence, 0.5, 1}, {"precision", p.Precision, 0, 1}, {"marginOfError", p.MarginOfError, 0, 1}, {"limit", p.Limit, 0, 1}} {
		if one.v != 0 && !(one.v > one.low && one.v < one.top) {
			c.Add(at+"/"+one.name, "out_of_range", "The value must be a fraction below 1; that of confidence above 0.5.")
		}
	}
	if p.Precision == 0 && p.MarginOfError == 0 {
		c.Add(at+"/precision", "required", "Give the relative precision, or the absolute marginOfError.")
	}
	check.OneOf(c, at+"/parameterType", p.ParameterType, "proportion", "mean")
	check.OneOf(c, at+"/tail", p.Tail, "two", "one")
	check.OneOf(c, at+"/onMiss", p.OnMiss, "none", "lower", "upper")
}
