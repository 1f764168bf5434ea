/** Tests which messages remain when there are too many. */
import t from 'tap'
import { toasts } from '../web/admin/shell/toasts.ts'

const texts = () => toasts.current().map(({ text }) => text)
const idOf = (text: string) => toasts.current().find((toast) => toast.text === text)?.id ?? 0
const button = { label: 'Undo', run() {} }
t.afterEach(() => {
  for (const { id } of toasts.current()) toasts.remove(id)
})

t.test('a new message replaces the oldest one', async (t) => {
  for (const text of ['first', 'second', 'third', 'fourth']) toasts.show(text)
  t.strictSame(texts(), ['second', 'third', 'fourth'])
})

t.test('a message without a button is replaced before one with a button', async (t) => {
  toasts.show('with undo', { button })
  for (const text of ['second', 'third', 'fourth']) toasts.show(text)
  t.strictSame(texts(), ['with undo', 'third', 'fourth'])
  for (const text of ['fifth', 'sixth', 'seventh']) toasts.show(text, { button })
  t.strictSame(texts(), ['fifth', 'sixth', 'seventh'])
})

t.test('a message is not replaced while the user is in it', async (t) => {
  toasts.show('in use')
  toasts.hold(idOf('in use'), true)
  for (const text of ['second', 'third', 'fourth']) toasts.show(text, { button })
  t.strictSame(texts(), ['in use', 'third', 'fourth'])
  toasts.hold(idOf('in use'), false)
  toasts.show('fifth')
  t.strictSame(texts(), ['third', 'fourth', 'fifth'])
})
