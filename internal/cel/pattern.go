package cel

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// The limits of regular expressions. A step is an instruction that looks at a
// character, at worst about 10 ns.
const (
	maxPatternSize = 1000    // instructions
	maxPatternHeap = 2 << 20 // bytes, of all patterns of an expression too
	maxSteps       = 500_000 // of one match
	stepsPerUnit   = 16      // steps that cost as much as a unit
	longestText    = 4000    // characters; patterns of matches must be good for as many
	endless        = 1 << 24 // more than any limit
)

// ErrPatternSize means that a regular expression is too large.
var ErrPatternSize = fmt.Errorf("its repeats and classes multiply to more than %d steps or %d MiB", maxPatternSize, maxPatternHeap>>20)

// Pattern is a regular expression whose memory and time are bounded. It is
// safe for concurrent use.
type Pattern struct {
	re     *regexp.Regexp
	extent extent
}

// NewPattern compiles a regular expression (RE2). It is measured first, because
// a few characters with counted repeats can ask for gigabytes. The error is
// ErrPatternSize, or says what is wrong with the text.
func NewPattern(text string) (*Pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p := &Pattern{extent: extentOf(tree)}
	if p.extent.size > maxPatternSize || p.Weight() > maxPatternHeap {
		return nil, ErrPatternSize
	}
	if !anchored(tree) {
		p.extent.reach = endless
	}
	p.re, err = regexp.Compile(text)
	return p, err
}

// Weight estimates the bytes of the pattern.
func (p *Pattern) Weight() int { return 160*p.extent.size + 16*p.extent.runes }

// Fits reports whether matching a text of so many characters takes at most
// about 5 ms.
func (p *Pattern) Fits(chars int) bool { return p.steps(chars) <= maxSteps }

// Cost is the cost, in units, of matching a text of so many characters.
func (p *Pattern) Cost(chars int) uint64 { return uint64(1 + p.steps(chars)/stepsPerUnit) }

// Match reports whether the pattern is found in a text.
func (p *Pattern) Match(text []byte) bool { return p.re.Match(text) }

func (p *Pattern) steps(chars int) int { return p.extent.size * (min(chars, p.extent.reach) + 1) }

// extent is how large a pattern is, at most.
type extent struct {
	size  int // instructions
	runes int // bounds of classes in all instructions
	reach int // characters of the longest match
}

// extentOf measures the tree, for to compile it is what must not happen.
func extentOf(re *syntax.Regexp) extent {
	var e extent
	for _, sub := range re.Sub {
		s := extentOf(sub)
		e.size, e.runes = e.size+s.size, e.runes+s.runes
		if re.Op == syntax.OpAlternate {
			e.size, e.reach = e.size+1, max(e.reach, s.reach)
		} else {
			e.reach += s.reach
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		e = extent{size: len(re.Rune), runes: 4 * len(re.Rune), reach: len(re.Rune)}
	case syntax.OpCharClass:
		e = extent{size: 1, runes: len(re.Rune), reach: 1}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		e = extent{size: 1, runes: 4, reach: 1}
	case syntax.OpConcat, syntax.OpAlternate:
	case syntax.OpRepeat:
		n := max(re.Max, 1)
		if re.Max < 0 {
			n = re.Min + 1 // the last one is a star
		}
		e = extent{e.size*n + n - re.Min + 1, e.runes * n, e.reach * n}
	default:
		e.size += 2
	}
	if re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0 {
		e.reach *= endless
	}
	return extent{min(e.size, endless), min(e.runes, endless), min(e.reach, endless)}
}

// anchored reports whether a match can only begin where the text does.
func anchored(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpConcat && anchored(re.Sub[0])
}

// patterns holds the patterns of an expression by their text.
type patterns map[string]*Pattern

// addPattern measures and compiles the pattern of a call to matches, unless the
// environment has it.
func (w *resolver) addPattern(text string) error {
	if p := w.shared[text]; p != nil {
		w.patterns[text] = p
	}
	if w.patterns[text] != nil {
		return nil
	}
	p, err := NewPattern(text)
	switch {
	case errors.Is(err, ErrPatternSize):
		return fmt.Errorf("the pattern is too large: %w", err)
	case err != nil:
		return fmt.Errorf("the pattern is not a regular expression: %w", err)
	case !p.Fits(longestText):
		return errors.New("the pattern is too large: it would take too long to match; make its repeats smaller, or begin it with ^")
	}
	w.patterns[text] = p
	if w.heap += p.Weight(); w.heap > maxPatternHeap {
		return errors.New("the patterns of the expression are too large together")
	}
	return nil
}

// Keep lets later programs use the patterns of p. It is not for concurrent use.
func (e *Env) Keep(p *Program) { maps.Copy(e.patterns, p.patterns) }

// options make a program use the patterns and count what they and our own
// functions cost.
func (ps patterns) options() []cel.ProgramOption {
	opts := []cel.ProgramOption{cel.CostTracking(ps)}
	if len(ps) == 0 {
		return opts
	}
	for _, id := range []string{overloads.Matches, overloads.MatchesString} {
		opts = append(opts, cel.OptimizeRegex(&interpreter.RegexOptimization{Function: overloads.Matches, OverloadID: id, RegexIndex: 1, Factory: ps.call}))
	}
	return opts
}

// call is a call of matches that gives up before it takes too long.
func (ps patterns) call(c interpreter.InterpretableCall, text string) (interpreter.InterpretableCall, error) {
	p := ps[text]
	if p == nil {
		return nil, errors.New("the pattern of matches was not measured")
	}
	return interpreter.NewCall(c.ID(), c.Function(), c.OverloadID(), c.Args(), func(args ...ref.Val) ref.Val {
		if len(args) == 0 {
			return types.NoSuchOverloadErr()
		}
		in, ok := args[0].(types.String)
		switch {
		case !ok:
			return types.MaybeNoSuchOverloadErr(args[0])
		case !p.Fits(utf8.RuneCountInString(string(in))):
			return types.NewErr("the text is too long for the pattern of matches")
		}
		return types.Bool(p.re.MatchString(string(in)))
	}), nil
}

// CallCost implements interpreter.ActualCostEstimator: matches costs what its
// pattern does, all else what callCost or CEL says.
func (ps patterns) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if function != overloads.Matches || len(args) != 2 {
		return callCost(function, overload, args, result)
	}
	in, _ := args[0].(types.String)
	text, _ := args[1].(types.String)
	p := ps[string(text)]
	if p == nil {
		return nil
	}
	cost, chars := uint64(1), utf8.RuneCountInString(string(in))
	if p.Fits(chars) {
		cost = p.Cost(chars) // else call has given up
	}
	return &cost
}
