#!/usr/bin/env node
import { createSupervisorLink, parseServingCommand } from './supervisor-link.ts'

// The kernel is imported only by the branch that needs it. A supervisor therefore needs little more memory than Node.js
// itself.
const words = process.argv.slice(2)
const supervisor = createSupervisorLink(process)
const command = supervisor === undefined ? parseServingCommand(words) : undefined

if (command === 'dev') {
  const { runDevServer } = await import('./dev-package.ts')
  process.exitCode = await runDevServer(words)
} else if (command === 'start' && !words.includes('--no-supervisor')) {
  const { superviseProcess } = await import('./supervisor.ts')
  await superviseProcess(words)
} else {
  if (supervisor?.mode === 'dev-again') {
    const { preloadUntilStart } = await import('./preload.ts')
    await preloadUntilStart(supervisor)
  }
  const { runProcess } = await import('./run-process.ts')
  await runProcess(words, supervisor)
}
