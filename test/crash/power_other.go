//go:build !linux

package main

import "errors"

func powerMissing() string { return "they need Linux" }

func newPower(string, func(string, ...any)) (place, error) { return nil, errors.New(powerMissing()) }
