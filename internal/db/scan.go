package db

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
)

// assign stores a SQLite value in what dest points to. NULL goes into
// pointers, sql.Scanner and *any only.
func assign(dest any, src driver.Value) error {
	switch d := dest.(type) {
	case *string:
		switch s := src.(type) {
		case string:
			*d = s
			return nil
		case []byte:
			*d = string(s)
			return nil
		}
	case *[]byte:
		return assignBytes(d, src)
	case *int64:
		if s, ok := src.(int64); ok {
			*d = s
			return nil
		}
	case *int:
		if s, ok := src.(int64); ok {
			*d = int(s)
			return nil
		}
	case *bool:
		if s, ok := src.(int64); ok && (s == 0 || s == 1) {
			*d = s == 1
			return nil
		}
	case *float64:
		switch s := src.(type) {
		case float64:
			*d = s
			return nil
		case int64:
			*d = float64(s)
			return nil
		}
	case *any:
		*d = src
		return nil
	case sql.Scanner:
		return d.Scan(src)
	default:
		return assignReflect(dest, src)
	}
	return mismatch(dest, src)
}

func assignBytes(d *[]byte, src driver.Value) error {
	switch s := src.(type) {
	case nil:
		*d = nil
	case []byte:
		// The driver gives nil for an empty blob; only NULL is nil here.
		if s == nil {
			s = []byte{}
		}
		*d = s
	case string:
		*d = []byte(s)
	default:
		return mismatch(d, src)
	}
	return nil
}

// assignReflect serves defined types and pointers.
func assignReflect(dest any, src driver.Value) error {
	p := reflect.ValueOf(dest)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("destination %T is not a pointer", dest)
	}
	v := p.Elem()
	if v.Kind() == reflect.Pointer {
		if src == nil {
			v.SetZero()
			return nil
		}
		n := reflect.New(v.Type().Elem())
		if err := assign(n.Interface(), src); err != nil {
			return err
		}
		v.Set(n)
		return nil
	}
	if setKind(v, src) {
		return nil
	}
	return mismatch(dest, src)
}

func setKind(v reflect.Value, src driver.Value) bool {
	switch v.Kind() {
	case reflect.String:
		var s string
		if assign(&s, src) == nil {
			v.SetString(s)
			return true
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if i, ok := src.(int64); ok && !v.OverflowInt(i) {
			v.SetInt(i)
			return true
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if i, ok := src.(int64); ok && i >= 0 && !v.OverflowUint(uint64(i)) {
			v.SetUint(uint64(i))
			return true
		}
	case reflect.Bool:
		var b bool
		if assign(&b, src) == nil {
			v.SetBool(b)
			return true
		}
	case reflect.Float32, reflect.Float64:
		var f float64
		if assign(&f, src) == nil {
			v.SetFloat(f)
			return true
		}
	case reflect.Slice:
		var b []byte
		if v.Type().Elem().Kind() == reflect.Uint8 && assignBytes(&b, src) == nil {
			v.SetBytes(b)
			return true
		}
	}
	return false
}

func mismatch(dest any, src driver.Value) error {
	if src == nil {
		return fmt.Errorf("cannot scan NULL into %T", dest)
	}
	return fmt.Errorf("cannot scan %T into %T", src, dest)
}
