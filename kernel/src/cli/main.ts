#!/usr/bin/env node
import { serves, supervisorOf } from './supervisor-link.ts'

// The supervisor uses little more memory than Node.js itself: only the branch that needs the kernel imports it.
const words = process.argv.slice(2)
const supervisor = supervisorOf(process)

if (supervisor === undefined && serves(words) && !words.includes('--no-supervisor')) {
  const { superviseProcess } = await import('./supervisor.ts')
  await superviseProcess(words)
} else {
  const { runProcess } = await import('./run-process.ts')
  await runProcess(words, supervisor)
}
