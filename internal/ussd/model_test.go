package ussd_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The model is the pack of tests written down a second time, as plain code,
// and what the service promises about it: an answer follows from the whole
// text of a call, and an action is done once for each text that leads to it.

// words are the texts of the pack.
var words = map[string]map[string]string{
	"en": {
		"welcome": "Welcome to Small\n", "read": "Read", "join": "Join", "login": "Log in", "order": "Order for ", "close": "Close",
		"back": "\n0. Back", "exit": "\n*. Exit", "bye": "Goodbye.", "invalid": "Choose a number shown.\n", "closed": "Closed.",
		"name?": "Your name?", "name!": "A name has letters.\n", "town?": ", your town?\n00. Skip", "town!": "Please answer.\n",
		"pin?": "Choose a PIN of 5 digits.", "pin!": "Five digits.\n", "weak": "Too easy to guess.\n", "thanks": "Thank you, ", "menu": "\n1. Menu",
		"login?": "Your PIN?", "login!": "4 to 6 digits.\n", "hello": "Hello ", "wrong": "Wrong PIN.\n", "many?": "How many, ", "many!": "From 1 to 30.\n",
		"ordered": "Ordered ", "sent": "Sent ", "sofar": " so far.", "resume": "Go on where you stopped?\n1. Continue\n2. Start again",
	},
	"sw": {
		"welcome": "Karibu Ndogo\n", "read": "Soma", "join": "Jiunge", "login": "Ingia", "order": "Agiza ", "close": "Funga",
		"back": "\n0. Rudi", "exit": "\n*. Toka", "bye": "Kwaheri.", "invalid": "Chagua namba.\n", "closed": "Imefungwa.",
		"name?": "Jina lako?", "name!": "Jina lina herufi.\n", "town?": ", mji wako?\n00. Ruka", "town!": "Tafadhali jibu.\n",
		"pin?": "Chagua PIN ya tarakimu 5.", "pin!": "Tarakimu tano.\n", "weak": "Rahisi mno.\n", "thanks": "Asante, ", "menu": "\n1. Menyu",
		"login?": "PIN yako?", "login!": "Tarakimu 4 hadi 6.\n", "hello": "Habari ", "wrong": "PIN si sahihi.\n", "many?": "Ngapi, ", "many!": "Kuanzia 1 hadi 30.\n",
		"ordered": "Umeagiza ", "sent": "Imetumwa ", "sofar": ".", "resume": "Endelea ulipoishia?\n1. Endelea\n2. Anza upya",
	},
}

// pages are those of the long text, without what stands below each.
var pages = []string{
	"This text is longer than one screen, so that it has pages. It says nothing that anybody needs to know, and it goes on saying so for quite",
	"some time until it is long enough to be read on three screens, which is what it is here for, and then it stops, but not before it has said",
	"all of this once more in other words, so that nobody can doubt it, and with a few more words at its end.",
}

// person is one number: what was done for it, and the walk that is kept.
type person struct {
	effects []string
	draft   *walker
}

// walker is where a call stands.
type walker struct {
	node, lang, name, town, amount, count string
	auth, done, kept                      bool
	moved                                 bool // the pages of the long text are not the usual ones
	page                                  int
}

// call is one session of a person.
type call struct {
	of      *person
	w       walker
	begin   walker            // after the first screen
	ledger  map[string]string // text → what its action gave
	drafted bool
	resumed bool
	success bool
	screen  string
}

// dial begins a call; with parts there is no question about a draft.
func dial(p *person, plain bool) *call {
	c := &call{of: p, ledger: map[string]string{}, w: walker{node: "home", lang: "en"}}
	if d := p.draft; plain && d != nil {
		c.w = *d
		c.w.node, c.w.kept = "resume", true
		c.resumed, c.drafted = true, true
	}
	c.begin = c.w
	c.screen = c.show("")
	return c
}

// from walks the whole text again; what actions gave before counts.
func (c *call) from(parts []string) {
	c.w = c.begin
	c.screen = c.show("")
	text := ""
	for _, p := range parts {
		text += "*" + p
		if c.w.done {
			continue
		}
		c.step(p, text)
	}
}

// step takes one input; key tells it apart from others of the call.
func (c *call) step(in, key string) {
	c.screen = c.take(in, key)
}

// settle does at the end of a request what is done with drafts.
func (c *call) settle() {
	w := &c.w
	family, _, _ := strings.Cut(w.node, ".")
	switch {
	case !w.done && !w.auth && !w.kept && (w.node == "join.name" || w.node == "join.town"):
		d := *w
		d.page, d.auth = 0, false
		c.of.draft, c.drafted = &d, true
	case c.drafted && !w.kept && (w.done || w.auth || c.success || family != "join"):
		c.of.draft, c.drafted = nil, false
	}
	c.success = false
}

// once does an action, unless its text was walked before.
func (c *call) once(key string, do func() string) string {
	if got, done := c.ledger[key]; done {
		return got
	}
	c.ledger[key] = do()
	return c.ledger[key]
}

func (c *call) done(what string) { c.of.effects = append(c.of.effects, what) }

var (
	isName  = regexp.MustCompile(`^[A-Za-z' -]*[A-Za-z][A-Za-z' -]*$`)
	isPIN   = regexp.MustCompile(`^[0-9]{5}$`)
	isLogin = regexp.MustCompile(`^[0-9]{4,6}$`)
)

// take is the whole pack.
func (c *call) take(in, key string) string {
	w := &c.w
	t := words[w.lang]
	menu := slices.Contains([]string{"home", "read", "read.sent", "join.done", "resume"}, w.node)
	back := map[string]string{"read": "home", "read.sent": "home", "join.name": "home", "join.town": "join.name", "join.pin": "join.town", "login.pin": "home", "order": "home"}[w.node]
	switch {
	case menu && strings.EqualFold(in, "back"):
		in = "0"
	case menu && strings.EqualFold(in, "exit"):
		in = "*"
	}
	switch {
	case in == "":
		return c.hint()
	case in == "*":
		w.done = true
		return "END " + t["bye"]
	case in == "0" && back != "":
		return c.to(back, "")
	}
	switch w.node + " " + in {
	case "home 1":
		return c.to("read", "")
	case "home 2":
		return c.to("join.name", "")
	case "home 3":
		return c.to("login.pin", "")
	case "home 9":
		w.lang = "sw"
		return c.to("home", "")
	case "read 98":
		if w.lang == "en" {
			w.page = (w.page + 1) % len(pages)
			return c.show("")
		}
	case "read 1":
		w.count = c.once(key, func() string {
			c.done("send reading")
			n := 0
			for _, e := range c.of.effects {
				if e == "send reading" {
					n++
				}
			}
			c.success = true
			return strconv.Itoa(n)
		})
		return c.to("read.sent", "")
	case "join.done 1":
		return c.to("home", "")
	case "resume 1":
		w.kept = false
		return c.to(c.of.draft.node, "")
	case "resume 2":
		*w = walker{node: "home", lang: w.lang}
		return c.to("home", "")
	}
	if w.node == "home" && in == "4" && w.auth {
		return c.to("order", "")
	}
	if w.node == "home" && in == "5" && !w.auth {
		w.node, w.done = "closed", true
		return "END " + t["closed"]
	}
	return c.answer(in, key)
}

// answer is what the questions of the pack do with an input.
func (c *call) answer(in, key string) string {
	w := &c.w
	t := words[w.lang]
	switch w.node {
	case "join.name":
		if isName.MatchString(in) {
			w.name = in
			return c.to("join.town", "")
		}
	case "join.town":
		if w.town = in; in == "00" {
			w.town = ""
		}
		return c.to("join.pin", "")
	case "join.pin":
		if !isPIN.MatchString(in) {
			break
		}
		if c.once(key, func() string {
			if in == "11111" {
				return "weak"
			}
			c.done("join " + w.name + "/" + w.town)
			c.success = true
			return "ok"
		}) == "weak" {
			return c.to("join.pin", t["weak"])
		}
		return c.to("join.done", "")
	case "login.pin":
		if !isLogin.MatchString(in) {
			break
		}
		if c.once(key, func() string {
			if in == pinOfAll {
				c.success = true
				return "ok"
			}
			c.done("wrong")
			return "wrong"
		}) == "wrong" {
			return c.to("login.pin", t["wrong"])
		}
		w.auth = true
		return c.to("home", t["hello"]+"Asha.\n")
	case "order":
		if n, err := strconv.Atoi(in); err != nil || n < 1 || n > 30 {
			break
		}
		w.amount = in
		c.once(key, func() string { c.done("order " + in); c.success = true; return "ok" })
		w.node, w.done = "order.done", true
		return "END " + t["ordered"] + in + ". " + t["bye"]
	}
	return c.hint()
}

func (c *call) to(node, notice string) string {
	c.w.node, c.w.page, c.w.moved = node, 0, false
	return c.show(notice)
}

func (c *call) hint() string {
	name := map[string]string{"join.name": "name!", "join.town": "town!", "join.pin": "pin!", "login.pin": "login!", "order": "many!"}[c.w.node]
	if name == "" {
		name = "invalid"
	}
	return c.show(words[c.w.lang][name])
}

// show is the screen of a node.
func (c *call) show(notice string) string {
	w := &c.w
	t := words[w.lang]
	s := ""
	switch w.node {
	case "home":
		s = t["welcome"] + "1. " + t["read"] + "\n2. " + t["join"] + "\n3. " + t["login"]
		if w.auth {
			s += "\n4. " + t["order"] + "Asha"
		} else {
			s += "\n5. " + t["close"]
		}
		s += "\n9. Kiswahili"
	case "read":
		if w.lang == "sw" {
			s = "Fupi\n1. Nitumie" + t["back"]
			break
		}
		return c.long(notice)
	case "read.sent":
		s = t["sent"] + w.count + t["sofar"] + t["back"]
	case "join.name":
		s = t["name?"] + t["back"]
	case "join.town":
		s = w.name + t["town?"] + t["back"]
	case "join.pin":
		s = t["pin?"] + t["back"]
	case "join.done":
		s = t["thanks"] + w.name + "." + t["menu"]
	case "login.pin":
		s = t["login?"] + t["back"]
	case "order":
		s = t["many?"] + "Asha?" + t["back"]
	case "resume":
		s = t["resume"]
	}
	return "CON " + notice + s + t["exit"]
}

// long is a page of the long text. A notice moves the page breaks; where to is
// the business of other tests.
func (c *call) long(notice string) string {
	if c.w.moved = c.w.moved || notice != ""; c.w.moved {
		return anyScreen
	}
	more := "\n98. More"
	if c.w.page == len(pages)-1 {
		more = ""
	}
	return "CON " + pages[c.w.page] + "\n1. Send me this" + more + "\n0. Back\n*. Exit"
}

// anyScreen stands for a screen that the model does not know in full.
const anyScreen = "CON "
