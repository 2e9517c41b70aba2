package dialog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// maxDelay keeps a slip of the pen from stopping the handset for an hour.
const maxDelay = time.Minute

// HandsetConfig configures a handset.
type HandsetConfig struct {
	Phone    PhoneConfig
	Gateways *wire.Set  // to change the dialect while it runs
	Gateway  string     // the dialect it begins with
	Pack     *menu.Pack // the menu of the server, as far as it is known; nil means unknown
	Lang     string     // language to choose after dialling, by the pack; "" leaves it
	Key      string     // API key of an operator, to name nodes in a saved dialog
	In       io.Reader
	Out      io.Writer
	Terminal bool // In and Out are a person's: colours, no echo of what was typed
}

// handset is one at work.
type handset struct {
	HandsetConfig
	phone  *Phone
	delay  time.Duration
	double bool
	node   string // of the last screen, "" when it is not known
	screen string // the last screen
	turns  []Turn
}

// RunHandset is a telephone in a terminal: it dials a USSD server through the dialect
// of a gateway, shows its screens and the room left on them, and can do what networks
// do: drop the call, deliver twice or late. A walk can be saved as a dialog. It reads
// lines, so a pipe works as well as a terminal, until the input ends, :quit or the end
// of ctx.
func RunHandset(ctx context.Context, c HandsetConfig) error {
	h := &handset{HandsetConfig: c}
	if err := h.renew(); err != nil {
		return err
	}
	h.say("%s  %s  %s", h.title(), h.phone.Number(), h.phone.Code())
	h.say("Enter dials. :help lists what else it can do.")
	lines := make(chan string)
	go readLines(ctx, c.In, lines)
	for {
		h.prompt()
		select {
		case <-ctx.Done(): // the prompt, or ^C, is still on the line
			fmt.Fprintln(h.Out)
			return nil
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			if !c.Terminal {
				fmt.Fprintln(h.Out, line)
			}
			if err := h.take(ctx, strings.TrimSpace(line)); errors.Is(err, errQuit) {
				return nil
			} else if err != nil {
				h.complain("%v", err)
			}
		}
	}
}

var errQuit = errors.New("quit")

// readLines passes the lines of r to RunHandset. It ends with the input, or with the next
// line after Run has ended, because a read of a terminal cannot be cancelled.
func readLines(ctx context.Context, r io.Reader, to chan<- string) {
	defer close(to)
	for s := bufio.NewScanner(r); s.Scan(); {
		select {
		case to <- s.Text():
		case <-ctx.Done():
			return
		}
	}
}

// renew takes a new telephone, with no call.
func (h *handset) renew() error {
	h.Phone.Gateway = h.Gateways.Get(h.Gateway)
	if h.Phone.Gateway == nil {
		return fmt.Errorf("there is no gateway %q; there are %s", h.Gateway, strings.Join(h.names(), ", "))
	}
	if h.Pack != nil {
		h.Phone.Limits = h.Pack.Within(h.Phone.Gateway.Limits)
	}
	phone, err := NewPhone(h.Phone)
	if err != nil {
		return err
	}
	h.phone, h.turns, h.node, h.screen = phone, nil, "", ""
	h.Phone.Number = phone.Number()
	return nil
}

func (h *handset) names() []string {
	var names []string
	for _, g := range h.Gateways.List() {
		names = append(names, g.Name)
	}
	return names
}

// title is the dialect and whether anybody has seen it work.
func (h *handset) title() string {
	t := h.Phone.Gateway.Title
	if h.Phone.Gateway.Unverified {
		t += " (unverified)"
	}
	return t
}

// take does what a line says.
func (h *handset) take(ctx context.Context, line string) error {
	rest, isCommand := strings.CutPrefix(line, ":")
	if !isCommand || strings.HasPrefix(rest, ":") {
		return h.enter(ctx, strings.TrimPrefix(line, ":"))
	}
	word, arg, _ := strings.Cut(rest, " ")
	return h.command(ctx, word, strings.TrimSpace(arg))
}

// command does what follows a colon.
func (h *handset) command(ctx context.Context, word, arg string) error {
	switch word {
	case "help", "h", "?":
		h.help()
	case "quit", "q":
		return errQuit
	case "drop":
		h.phone.Drop()
		h.say("The call is gone; the server was not told.")
	case "redial":
		h.phone.Drop()
		return h.enter(ctx, arg)
	case "dup":
		h.double = true
		h.say("The next answer is delivered twice at once.")
	case "again":
		return h.again(ctx)
	case "delay":
		d, err := time.ParseDuration(arg)
		if err != nil || d < 0 || d > maxDelay {
			return errors.New("want a time such as 500ms, at most a minute; 0s is none")
		}
		h.delay = d
		h.say("Answers are %s late from now on.", d)
	case "save":
		return h.save(arg)
	case "phone":
		h.Phone.Number = arg
		return h.renew()
	case "gateway":
		before := h.Gateway
		h.Gateway = arg
		if err := h.renew(); err != nil {
			h.Gateway = before
			return errors.Join(err, h.renew())
		}
		h.say("%s  %s", h.title(), h.phone.Number())
	default:
		return fmt.Errorf(":%s is not known; :help lists what is", word)
	}
	return nil
}

func (h *handset) help() {
	h.say(`What you type is sent as an answer; an empty line dials when no call is up.
:drop           lose the call, as networks do
:redial [text]  dial again; with text a deep dial such as 2*1
:dup            deliver the next answer twice at once
:again          deliver the last request once more
:delay 500ms    make every answer late
:save FILE      save the walk as a dialog, PINs left out
:phone NUMBER   become another number
:gateway NAME   speak another dialect: %s
:quit           leave
Two colons send an answer that begins with one.`, strings.Join(h.names(), ", "))
}

// enter dials or answers, and chooses the language right after dialling.
func (h *handset) enter(ctx context.Context, text string) error {
	dials := !h.phone.Live()
	if err := h.send(ctx, text, dials); err != nil || !dials || text != "" {
		return err
	}
	for _, key := range h.languageKeys() {
		if !h.phone.Live() {
			break
		}
		h.say("(%s for the language %s)", key, h.Lang)
		if err := h.send(ctx, key, false); err != nil {
			return err
		}
	}
	return nil
}

// languageKeys are the keys from the first menu to the option that sets the
// language, the shortest way.
func (h *handset) languageKeys() []string {
	if h.Pack == nil || h.Lang == "" || h.Lang == h.Pack.Default() || h.node != "" && h.node != h.Pack.Start {
		return nil
	}
	type stop struct {
		node string
		keys []string
	}
	seen := map[string]bool{}
	for queue := []stop{{node: h.Pack.Start}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		n := h.Pack.Node(at.node)
		if n == nil || seen[at.node] {
			continue
		}
		seen[at.node] = true
		for _, o := range n.Options {
			keys := append(slices.Clone(at.keys), o.Key)
			if o.Set[menu.Language] == h.Lang {
				return keys
			}
			if len(o.If) == 0 && o.When == nil {
				queue = append(queue, stop{o.To, keys})
			}
		}
	}
	return nil
}

// send delivers one answer, or two of it, and shows what came back.
func (h *handset) send(ctx context.Context, text string, dials bool) error {
	if err := wait(ctx, h.delay); err != nil {
		return err
	}
	mask := h.mask(text)
	var a, b Answer
	var err error
	double := h.double
	if h.double = false; double {
		a, b, err = h.phone.Double(ctx, text)
	} else {
		a, err = h.phone.Type(ctx, text)
	}
	if err != nil {
		return err
	}
	t := Turn{Input: text, Mask: mask, Hangup: dials && len(h.turns) > 0, Screen: a.Framed()}
	if mask != "" {
		t.Input = ""
	}
	a = h.ask(ctx, a)
	t.Node = h.node
	h.turns = append(h.turns, t)
	h.show(a)
	if double && a.Raw == b.Raw {
		h.say("Both copies got this answer.")
	} else if double {
		h.complain("The other copy got another answer: %q", b.Raw)
	}
	return nil
}

// again delivers the last request once more and compares.
func (h *handset) again(ctx context.Context) error {
	a, err := h.phone.Again(ctx)
	if err != nil {
		return err
	}
	h.show(a)
	if a.Framed() == h.screen {
		h.say("The same answer as before.")
	} else {
		h.complain("Not the answer it was before.")
	}
	return nil
}

// ask finds out where the session is, if the server says, and measures the
// answer by the limits of the server's menu, which may differ from the local
// one.
func (h *handset) ask(ctx context.Context, a Answer) Answer {
	h.node, h.screen = "", a.Framed()
	if a.End {
		return a
	}
	place, err := Where(ctx, Server{Send: h.Phone.Send, Base: h.Phone.Base, Key: h.Key}, h.phone.Session())
	if err != nil {
		return a
	}
	h.node = place.Node
	if place.Limits.GSM7 == 0 {
		return a
	}
	h.phone.Limits(place.Limits)
	return a.Within(place.Limits)
}

// mask is the variable that replaces an answer that must not be saved: one to
// an input the pack calls secret or, when that is not known, digits where the
// screen mentions a PIN or a code; and anything that looks like one elsewhere.
func (h *handset) mask(text string) string {
	if h.screen == "" || text == "" {
		return ""
	}
	if h.Pack != nil && h.node != "" {
		if n := h.Pack.Node(h.node); n != nil {
			if n.Input != nil && n.Input.Secret && text != menu.KeyBack && text != menu.KeyExit {
				return n.Input.Name
			}
			if Secretive(text) && !n.HasKey(text) {
				return "digits"
			}
			return ""
		}
	}
	speaks := strings.ToLower(h.screen)
	switch {
	case len(text) >= 4 && strings.Trim(text, "0123456789") == "" && (strings.Contains(speaks, "pin") || strings.Contains(speaks, "code")):
		return "pin"
	case Secretive(text):
		return "digits"
	}
	return ""
}

// save writes the walk so far. Where nodes are known the screens are left out,
// because they contain data that differs from call to call.
func (h *handset) save(file string) error {
	if file == "" || len(h.turns) == 0 {
		return errors.New("want a file, and at least one call to save")
	}
	s := Saved{Title: "saved from the simulator", Gateway: h.Gateway, Code: h.phone.Code(), Mode: h.Phone.Mode, Turns: append([]Turn(nil), h.turns...)}
	for i := range s.Turns {
		if s.Turns[i].Node != "" {
			s.Turns[i].Screen = ""
		}
	}
	if err := os.WriteFile(file, s.Text(), 0o600); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	h.say("Saved %d steps as %s.", len(s.Turns), file)
	return nil
}

// wait is a delay that ends with ctx.
func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
