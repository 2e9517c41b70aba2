package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// rule is a kind whose type only its field knows.
type rule struct {
	name, want string
	list       bool
	words      []string
	parse      func(string) (any, error)
	format     func(any) string
}

// is makes the rule of a kind.
func is[T any](k kind[T]) rule {
	return rule{
		name: k.name, want: k.want, list: k.list, words: k.words,
		parse:  func(text string) (any, error) { return k.parse(text) },
		format: func(v any) string { return k.format(v.(T)) },
	}
}

// ruleOf reads the tag "is" of a field: the name of a rule and its limits. A tag
// that is wrong is a mistake in the program, found by the first test that asks
// for a setting.
func ruleOf(tag string) rule {
	name, rest, _ := strings.Cut(tag, " ")
	args := strings.Fields(rest)
	if of, ok := bounded[name]; ok {
		return of(args)
	}
	if of, ok := plainRules[name]; ok {
		return of()
	}
	panic(fmt.Sprintf("no rule %q", tag))
}

// bounded are the rules that have limits.
var bounded = map[string]func(args []string) rule{
	"integer":  func(a []string) rule { return is(integer(number(a[0]), number(a[1]))) },
	"text":     func(a []string) rule { return is(text(number(a[0]))) },
	"names":    func(a []string) rule { return is(list(text(number(a[0])))) },
	"secret":   func(a []string) rule { return is(secret(number(a[0]))) },
	"oneOf":    func(a []string) rule { return is(oneOf(a...)) },
	"size":     func(a []string) rule { return is(size(bytesOf(a[0]), bytesOf(a[1]))) },
	"duration": func(a []string) rule { return is(duration(span(a[0]), span(a[1]), len(a) > 2)) }, // a third word: or 0
	"seconds":  func(a []string) rule { return is(counted("seconds", time.Second, number(a[0]), number(a[1]))) },
	"milliseconds": func(a []string) rule {
		return is(counted("milliseconds", time.Millisecond, number(a[0]), number(a[1])))
	},
}

// plainRules are the others.
var plainRules = map[string]func() rule{
	"boolean":      func() rule { return is(boolean()) },
	"ratio":        func() rule { return is(ratio()) },
	"logLevel":     func() rule { return is(logLevel()) },
	"environment":  func() rule { return is(environment()) },
	"areas":        func() rule { return is(list(area())) },
	"channels":     func() rule { return is(list(channel())) },
	"host":         func() rule { return is(host()) },
	"address":      func() rule { return is(address()) },
	"networks":     func() rule { return is(list(network())) },
	"proxies":      func() rule { return is(list(networkText())) },
	"outbound":     func() rule { return is(list(outboundEntry())) },
	"domains":      func() rule { return is(list(domain())) },
	"origins":      func() rule { return is(origins()) },
	"tiles":        func() rule { return is(tiles()) },
	"httpURL":      func() rule { return is(httpURL()) },
	"homeservers":  func() rule { return is(list(homeserver())) },
	"hookURL":      func() rule { return is(hookURL()) },
	"postgresURL":  func() rule { return is(postgresURL()) },
	"headerPairs":  func() rule { return is(headerPairs()) },
	"pinKey":       func() rule { return is(pinKey()) },
	"serviceCodes": func() rule { return is(list(serviceCode())) },
	"textMode":     func() rule { return is(textMode()) },
	"oracleDID":    func() rule { return is(oracleDID()) },
	"mnemonic":     func() rule { return is(mnemonic()) },
	"routes":       func() rule { return is(list(route())) },
	"natsURLs":     func() rule { return is(natsURLs()) },
}

func number(s string) int         { return must(strconv.Atoi(s)) }
func bytesOf(s string) int64      { return must(parseSize(s)) }
func span(s string) time.Duration { return must(parseDuration(s)) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
