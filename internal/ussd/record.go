package ussd

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// mode is what the texts of a session hold.
type mode byte

const (
	_ mode = iota // of sessions that an earlier version began
	accumulated
	latest
)

// record is a session as it is stored. Each step reads and writes one, so it
// has a compact format: texts preceded by their length, no names.
type record struct {
	mode    mode
	resumed bool // it began with the question whether to continue
	code    string
	started int64 // µs; also distinguishes calls that share an id
	updated int64 // µs
	answer  string
	draft   string // node of the draft that this session has stored
	state   machine.State
	seen    []mark // texts so far: all of them while they accumulate, else the newest
	trail   []byte // what was typed and where it led, see appendStop
	effects []effect
}

// effect is what an action gave, for a walk that is walked again.
type effect struct {
	key    string
	result machine.Result
	asked  bool // of other servers, which know the key and answer the same again
}

// maxAsked limits the bytes of other servers' answers in a session. Beyond it
// the oldest are dropped, and asked for again when a walk needs them.
const maxAsked = 32 << 10

const recordForm = 1

const (
	flagDone = 1 << iota
	flagResumed
	_ // of earlier versions
	flagSecrets
	flagEffects
	flagProof
)

var errRecord = errors.New("the stored session cannot be read")

// appendTo adds the stored form of r to dst.
func (r *record) appendTo(dst []byte, k *key, box secret.Box) []byte {
	var flags byte
	for _, f := range [...]struct {
		on   bool
		flag byte
	}{{r.state.Done, flagDone}, {r.resumed, flagResumed}, {len(r.state.Secrets) > 0, flagSecrets}, {len(r.effects) > 0, flagEffects}, {r.state.Proof != "", flagProof}} {
		if f.on {
			flags |= f.flag
		}
	}
	s := &r.state
	dst = append(dst, recordForm, flags, byte(r.mode))
	dst = binary.AppendUvarint(dst, uint64(r.started))
	dst = binary.AppendUvarint(dst, uint64(r.updated-r.started))
	for _, text := range [...]string{r.code, r.answer, r.draft, s.Pack, s.Version, s.Node, s.Lang, s.Notice, s.Account, s.Kept} {
		dst = appendText(dst, text)
	}
	dst = binary.AppendUvarint(dst, uint64(s.Page))
	dst = binary.AppendUvarint(dst, uint64(s.Step))
	dst = appendMap(dst, s.Vars)
	dst = binary.AppendUvarint(dst, uint64(len(r.seen)))
	for _, m := range r.seen {
		dst = binary.AppendUvarint(dst, uint64(m.length))
		dst = binary.LittleEndian.AppendUint64(dst, m.mac)
	}
	dst = appendText(dst, r.trail)
	if flags&flagSecrets != 0 {
		dst = appendText(dst, box.Seal(k.id, appendMap(nil, s.Secrets)))
	}
	if flags&flagEffects != 0 {
		dst = appendEffects(dst, r.effects)
	}
	if flags&flagProof != 0 {
		dst = appendText(dst, s.Proof)
	}
	return dst
}

// readRecord is the other way round.
func readRecord(data []byte, k *key, box secret.Box) (*record, error) {
	d := decoder{s: string(data)}
	if d.byte() != recordForm {
		return nil, errRecord
	}
	flags := d.byte()
	r := &record{mode: mode(d.byte()), resumed: flags&flagResumed != 0}
	r.started = int64(d.uint())
	r.updated = r.started + int64(d.uint())
	s := &r.state
	for _, to := range [...]*string{&r.code, &r.answer, &r.draft, &s.Pack, &s.Version, &s.Node, &s.Lang, &s.Notice, &s.Account, &s.Kept} {
		*to = d.text()
	}
	s.Page, s.Step, s.Done = int(d.uint()), int(d.uint()), flags&flagDone != 0
	s.Vars = d.textMap()
	if n := d.count(9); n > 0 {
		r.seen = make([]mark, n, n+1)
		for i := range r.seen {
			r.seen[i] = mark{int(d.uint()), d.uint64()}
		}
	}
	r.trail = []byte(d.text())
	if flags&flagSecrets != 0 {
		plain, err := box.Open(k.id, []byte(d.text()))
		if err != nil {
			return nil, errRecord
		}
		sealed := decoder{s: string(plain)}
		s.Secrets = sealed.textMap()
		d.bad = d.bad || sealed.bad
	}
	if flags&flagEffects != 0 {
		r.effects = d.effects()
	}
	if flags&flagProof != 0 {
		s.Proof = d.text()
	}
	if d.bad || d.s != "" {
		return nil, errRecord
	}
	return r, nil
}

// effectAsked takes the place of a login: answers of other servers log nobody
// in.
const effectAsked = 4

func appendEffects(dst []byte, all []effect) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for _, e := range all {
		dst = appendText(dst, e.key)
		dst = appendText(dst, e.result.Name)
		dst = appendText(dst, e.result.Lang)
		dst = appendMap(dst, e.result.Set)
		if e.asked {
			dst = append(dst, effectAsked)
			continue
		}
		if e.result.Account == nil {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, 2)
		dst = appendText(dst, *e.result.Account)
		dst = appendText(dst, e.result.Proof)
	}
	return dst
}

func (d *decoder) effects() []effect {
	out := make([]effect, d.count(5))
	for i := range out {
		e := &out[i]
		e.key, e.result.Name, e.result.Lang, e.result.Set = d.text(), d.text(), d.text(), d.textMap()
		login := d.byte()
		if e.asked = login == effectAsked; e.asked || login == 0 {
			continue
		}
		account := d.text()
		e.result.Account = &account
		if login > 1 { // earlier versions kept no proof: such a login no longer counts
			e.result.Proof = d.text()
		}
	}
	return out
}

// effect finds what an action gave before.
func (r *record) effect(key string) (machine.Result, bool) {
	i := slices.IndexFunc(r.effects, func(e effect) bool { return e.key == key })
	if i < 0 {
		return machine.Result{}, false
	}
	return r.effects[i].result, true
}

// keepEffect keeps the result of an action. When the account of the session
// proves itself again, for example by a new PIN, its earlier login in this
// session counts as long as the new proof does.
func (r *record) keepEffect(key string, res machine.Result, asked bool) {
	if login := gives(&res); login != "" && login == r.state.Account {
		for i := range r.effects {
			if e := &r.effects[i].result; gives(e) == login && e.Proof == r.state.Proof {
				e.Proof = res.Proof
			}
		}
	}
	r.effects = slices.DeleteFunc(r.effects, func(e effect) bool { return e.key == key })
	r.effects = append(r.effects, effect{key, res, asked})
	if asked {
		r.forgetAsked()
	}
}

// forgetAsked keeps the newest answers of other servers, as far as there is
// room.
func (r *record) forgetAsked() {
	size := 0
	for i := len(r.effects) - 1; i >= 0; i-- {
		if !r.effects[i].asked {
			continue
		}
		size += len(r.effects[i].key)
		for name, v := range r.effects[i].result.Set {
			size += len(name) + len(v)
		}
		if size > maxAsked {
			r.effects = slices.Delete(r.effects, i, i+1)
		}
	}
}

// gives returns the account that a result logs in; "" for none.
func gives(r *machine.Result) string {
	if r.Account == nil {
		return ""
	}
	return *r.Account
}

func appendText[T string | []byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendMap writes the names in order, so that the same state has one form.
func appendMap(dst []byte, m map[string]string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(m)))
	if len(m) == 0 {
		return dst
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		dst = appendText(dst, name)
		dst = appendText(dst, m[name])
	}
	return dst
}

// decoder reads what the append functions wrote. After the first thing that
// cannot be, all it gives is empty.
type decoder struct {
	s   string
	bad bool
}

func (d *decoder) fail() {
	d.s, d.bad = "", true
}

func (d *decoder) byte() byte {
	if d.s == "" {
		d.fail()
		return 0
	}
	b := d.s[0]
	d.s = d.s[1:]
	return b
}

func (d *decoder) uint() uint64 {
	var x uint64
	for shift := 0; shift < 64; shift += 7 {
		b := d.byte()
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x
		}
	}
	d.fail()
	return 0
}

func (d *decoder) uint64() uint64 {
	if len(d.s) < 8 {
		d.fail()
		return 0
	}
	var b [8]byte
	copy(b[:], d.s)
	d.s = d.s[8:]
	return binary.LittleEndian.Uint64(b[:])
}

// count reads a number of things that take at least size bytes each.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.s)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.s)) {
		d.fail()
		return ""
	}
	s := d.s[:n]
	d.s = d.s[n:]
	return s
}

func (d *decoder) textMap() map[string]string {
	n := d.count(2)
	if n == 0 {
		return nil
	}
	m := make(map[string]string, n)
	for range n {
		name := d.text()
		m[name] = d.text()
	}
	return m
}
