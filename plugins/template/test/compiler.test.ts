/** Tests the compiler thread: there is only one, it can be terminated, and the event loop does not wait for it. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { assertMembers, manualClock, throwsWith } from '@plinth/dev/testing'
import t from 'tap'
import { Compiler } from '../src/compile/compiler.ts'
import type { TemplateSource } from '../src/compile/source.ts'

const source = (content: string, html: string | null = null): TemplateSource => ({
  subject: '',
  content,
  html,
  locale: 'en',
  htmlFormat: html === null ? null : 'mjml',
})
const htmlSource = (html: string): TemplateSource => ({ ...source('x'), html, htmlFormat: 'html' })
const heavy = source(
  '',
  `<mjml><mj-body>${'<mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section>'.repeat(2_900)}</mj-body></mjml>`,
)
const rejectionOf = (work: Promise<unknown>) =>
  work.then(
    () => 'compiled',
    (error: unknown) => error,
  )

t.test('a compilation that exceeds its deadline ends, and does not delay the next one', async (t) => {
  const clock = manualClock(0)
  const compiler = new Compiler(clock, () => 10_000)
  t.teardown(() => compiler.stop())
  const late = rejectionOf(compiler.compile(heavy))
  const next = compiler.compile(source('{{name}}'))
  await clock.advance(10_000)
  t.match(await late, { code: /^400$/, reason: /^template\.compile-timeout$/, message: /10 s/ })
  assertMembers(t, await next, { variables: ['name'] })
})

t.test('a large template does not block the event loop', async (t) => {
  const compiler = new Compiler(manualClock(0), () => 60_000)
  t.teardown(() => compiler.stop())
  await compiler.compile(source('x'))
  const begun = { here: process.threadCpuUsage(), everywhere: process.cpuUsage() }
  t.hasStrict(await rejectionOf(compiler.compile(heavy)), {
    reason: 'template.source-refused',
    data: { fault: { rule: 'mjml-too-large' } },
  })
  const msOf = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1_000
  const here = msOf(process.threadCpuUsage(begun.here))
  const everywhere = msOf(process.cpuUsage(begun.everywhere))
  // The test measures CPU time of the event loop thread, because elapsed time depends on the load of the host.
  t.ok(here < everywhere / 2, `${here.toFixed(0)} of ${everywhere.toFixed(0)} ms of processor are of the event loop`)
})

t.test('many elements with raw text cost as much as many other elements', async (t) => {
  const compiler = new Compiler(manualClock(0), () => 600_000)
  t.teardown(() => compiler.stop())
  await compiler.preview(htmlSource('<p>x</p>'))
  const costOf = async (element: string) => {
    const begun = process.cpuUsage()
    await compiler.preview(htmlSource(`<${element}>x</${element}>`.repeat(12_000)))
    const { user, system } = process.cpuUsage(begun)
    return user + system
  }
  const usual = await costOf('p')
  for (const element of ['title', 'textarea', 'style'])
    t.ok((await costOf(element)) < 20 * usual, `the cost of ${element} grows with the length, not with its square`)
})

t.test('only the queue length may wait, and a rejected source releases the thread for the next one', async (t) => {
  const compiler = new Compiler(manualClock(0), () => 60_000)
  t.teardown(() => compiler.stop())
  const looks = Array.from({ length: 4 }, (_, index) =>
    rejectionOf(compiler.preview(source(index === 0 ? '{{{x}}}' : '{{x}}'))),
  )
  throwsWith(t, () => compiler.preview(source('x')), { message: /Too many templates/ }, 'there is room for who saves')
  const waiting = [...looks, ...Array.from({ length: 4 }, () => rejectionOf(compiler.compile(source('{{x}}'))))]
  throwsWith(t, () => compiler.compile(source('x')), { message: /Too many templates/ })
  const [first, ...rest] = await Promise.all(waiting)
  t.match(first, { code: /^400$/, reason: /^template\.source-refused$/, message: /content:1:1/ })
  t.same(rest, Array(7).fill('compiled'))
})

t.test('an unused thread ends, and a stop ends the running compilation', async (t) => {
  let threads = 0
  const countThread = () => {
    threads += 1
  }
  subscribe('worker_threads', countThread)
  t.teardown(() => unsubscribe('worker_threads', countThread))
  const clock = manualClock(0)
  const compiler = new Compiler(clock, () => 60_000)
  await compiler.compile(source('x'))
  await compiler.compile(source('x'))
  t.equal(threads, 1, 'two compilations share one')
  await clock.advance(30_000)
  assertMembers(t, await compiler.compile(source('{{y}}')), { variables: ['y'] })
  t.equal(threads, 2)
  const cut = rejectionOf(compiler.compile(heavy))
  await new Promise(setImmediate)
  await compiler.stop()
  t.match(await cut, { message: /ended without a result/ })
})
