#!/usr/bin/env node
import { servingCommand, supervisorOf } from './supervisor-link.ts'

// The supervisor uses little more memory than Node.js itself: only the branch that needs the kernel imports it.
const words = process.argv.slice(2)
const supervisor = supervisorOf(process)
const command = supervisor === undefined ? servingCommand(words) : undefined

if (command === 'dev') {
  const { runDev } = await import('./dev.ts')
  process.exitCode = await runDev(words)
} else if (command === 'start' && !words.includes('--no-supervisor')) {
  const { superviseProcess } = await import('./supervisor.ts')
  await superviseProcess(words)
} else {
  if (supervisor?.mode === 'dev-again') {
    const { standBy } = await import('./standby.ts')
    await standBy(supervisor)
  }
  const { runProcess } = await import('./run-process.ts')
  await runProcess(words, supervisor)
}
