// Command load has both ends of Outrigger's benchmark: the provider and the callers.
//
//	load upstream    serves a script of OpenAI's Responses API over HTTP/1.1
//	load responder   answers gRPC calls from memory, to measure the callers' own maximum
//	load call        makes a number of calls and reports how long they took
//	load read        reads the streams of stored responses and checks that no event is missing
//	load stall       opens streams and reads none of them
//	load cancel      opens streams and cancels them after their first message
//
// Servers run until standard input closes. The others print a report as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	commands := map[string]func([]string) error{
		"upstream":  runUpstream,
		"responder": runResponder,
		"call":      runCalls,
		"read":      runRead,
		"stall":     runStall,
		"cancel":    runCancel,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: load upstream|responder|call|read|stall|cancel [flags]")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "load", os.Args[1]+":", err)
		os.Exit(1)
	}
}

// waitForClose returns when the parent process closes standard input, or has ended.
func waitForClose() {
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func printJSON(report any) error {
	return json.NewEncoder(os.Stdout).Encode(report)
}
