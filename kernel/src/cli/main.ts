#!/usr/bin/env node
import { serves, supervisorOf } from './supervisor-link.ts'

// The supervisor stays as small as Node.js itself: whatever loads the kernel is imported by the branch that needs it.
const words = process.argv.slice(2)
const supervisor = supervisorOf(process)

if (supervisor === undefined && serves(words) && !words.includes('--no-supervisor')) {
  const { superviseProcess } = await import('./supervisor.ts')
  await superviseProcess(words)
} else {
  const { runProcess } = await import('./run-process.ts')
  await runProcess(words, supervisor)
}
