package export

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// yesNo is the name of the labels that all truths share.
const yesNo = "no_yes"

// Bytes that names, formats and labels have, whatever they are.
const (
	nameRoom   = 129
	formatRoom = 57
	noteRoom   = 321
)

// begin writes all that stands before the rows. The map in it says where each
// part of the file begins, so the parts are made first.
func (w *stataWriter) begin(b []byte) []byte {
	for i := range w.vars {
		v := &w.vars[i]
		if v.words {
			v.kind, v.values = stataText, nil // text, so that values that are not numbers are kept
		}
		if v.long() {
			w.long += v.texts*longHead + v.bytes
		}
	}
	head := w.header()
	parts := [][]byte{
		w.each("variable_types", func(b []byte, v *stataVar) []byte { return binary.LittleEndian.AppendUint16(b, v.code()) }),
		w.each("varnames", func(b []byte, v *stataVar) []byte { return padded(b, v.name, nameRoom) }),
		tagged("sortlist", make([]byte, 2*(len(w.vars)+1))),
		w.each("formats", func(b []byte, v *stataVar) []byte { return padded(b, v.format(), formatRoom) }),
		w.each("value_label_names", func(b []byte, v *stataVar) []byte { return padded(b, v.labels(), nameRoom) }),
		w.each("variable_labels", func(b []byte, v *stataVar) []byte { return padded(b, v.label, noteRoom) }),
		tagged("characteristics", w.notes()),
	}
	const mapped = 14 // parts that the map knows
	at := uint64(len(head))
	places := binary.LittleEndian.AppendUint64(make([]byte, 8), at)
	add := func(n uint64) {
		at += n
		places = binary.LittleEndian.AppendUint64(places, at)
	}
	add(uint64(len("<map></map>") + 8*mapped))
	for _, p := range parts {
		add(uint64(len(p)))
	}
	width := 0
	for i := range w.vars {
		width += w.vars[i].size()
	}
	add(uint64(len("<data></data>")) + uint64(width)*uint64(w.found))
	add(uint64(len("<strls></strls>")) + uint64(w.long))
	add(uint64(len(w.valueLabels())))
	add(uint64(len(stataEnd)))
	b = append(append(b, head...), tagged("map", places)...)
	for _, p := range parts {
		b = append(b, p...)
	}
	return append(b, "<data>"...)
}

const stataEnd = "</stata_dta>"

// end writes all that stands after the long texts.
func (w *stataWriter) end(b []byte) []byte {
	b = append(append(b, "</strls>"...), w.valueLabels()...)
	return append(b, stataEnd...)
}

// header says what the file is.
func (w *stataWriter) header() []byte {
	b := append([]byte(nil), "<stata_dta><header><release>118</release><byteorder>LSF</byteorder><K>"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(w.vars))) // at most MaxColumns
	b = binary.LittleEndian.AppendUint64(append(b, "</K><N>"...), uint64(w.found))
	label := cut("Survey "+w.about.Survey, maxStataNote)
	b = binary.LittleEndian.AppendUint16(append(b, "</N><label>"...), uint16(len(label)))
	b = append(append(b, label...), "</label><timestamp>"...)
	when := w.about.AsOf.UTC().Format("02 Jan 2006 15:04")
	b = append(append(b, byte(len(when))), when...)
	return append(b, "</timestamp></header>"...)
}

func tagged(name string, inside []byte) []byte {
	return append(append(append([]byte("<"+name+">"), inside...), "</"...), name+">"...)
}

// each writes a part with an entry for every variable.
func (w *stataWriter) each(name string, write func([]byte, *stataVar) []byte) []byte {
	var b []byte
	for i := range w.vars {
		b = write(b, &w.vars[i])
	}
	return tagged(name, b)
}

// padded writes a text of fixed size.
func padded(b []byte, text string, room int) []byte {
	return append(append(b, text...), make([]byte, room-len(text))...)
}

// code is the type of a variable.
func (v *stataVar) code() uint16 {
	switch {
	case v.kind != stataText:
		return typeDouble
	case v.long():
		return typeLong
	}
	return uint16(v.size())
}

// format is how its values are shown.
func (v *stataVar) format() string {
	switch v.kind {
	case stataNumber:
		return "%12.0g"
	case stataDay:
		return "%tdCCYY-NN-DD"
	case stataMoment:
		return "%tcCCYY-NN-DD_HH:MM:SS"
	}
	return "%" + strconv.Itoa(min(max(v.longest, 9), 60)) + "s"
}

// labels is the name of the labels of its values, "" when it has none.
func (v *stataVar) labels() string {
	switch {
	case len(v.values) == 0:
		return ""
	case v.truth:
		return yesNo
	}
	return v.name
}

// notes say what the file is made from, and the column of each variable in the
// other formats.
func (w *stataWriter) notes() []byte {
	a := &w.about
	about := fmt.Sprintf("Survey %s, template %s version %d, as of %s, pii=%s", a.Survey, a.TemplateID, a.TemplateVersion, a.AsOf.UTC().Format("2006-01-02T15:04:05Z"), w.l.cfg.Level)
	b := note(nil, "_dta", "note0", "1")
	b = note(b, "_dta", "note1", about)
	for i := range w.vars {
		b = note(b, w.vars[i].name, "column", w.vars[i].column)
	}
	return b
}

func note(b []byte, of, name, text string) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, "<ch>"...), uint32(2*nameRoom+len(text)+1))
	b = padded(padded(b, of, nameRoom), name, nameRoom)
	return append(append(append(b, text...), 0), "</ch>"...)
}

// valueLabels are the tables of labels.
func (w *stataWriter) valueLabels() []byte {
	var b []byte
	done := map[string]bool{}
	for i := range w.vars {
		v := &w.vars[i]
		name := v.labels()
		if name == "" || done[name] {
			continue
		}
		done[name] = true
		var places, numbers, texts []byte
		for _, l := range v.values {
			places = binary.LittleEndian.AppendUint32(places, uint32(len(texts)))
			numbers = binary.LittleEndian.AppendUint32(numbers, uint32(l.n))
			texts = append(append(texts, l.text...), 0)
		}
		b = binary.LittleEndian.AppendUint32(append(b, "<lbl>"...), uint32(8+len(places)+len(numbers)+len(texts)))
		b = append(padded(b, name, nameRoom), 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.values)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(texts)))
		b = append(append(append(append(b, places...), numbers...), texts...), "</lbl>"...)
	}
	return tagged("value_labels", b)
}
