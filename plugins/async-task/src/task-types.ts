import { reasonOf } from '@plinth/kernel'
import { Compile, type Validator } from 'typebox/compile'
import type { TaskHandler, TaskType } from './contract.ts'
import { asyncTaskError } from './errors.ts'

/** Bytes. */
const largestParams = 64 * 1024

/** A type with its handler. */
export interface HandledType {
  readonly type: TaskType
  readonly handler: TaskHandler<unknown>
  readonly validator: Validator
}

/** The types of tasks that this process can run. */
export class TaskTypes {
  readonly #byId = new Map<string, HandledType>()
  readonly #isPermission: (code: string) => boolean

  /** @param isPermission whether a loaded plugin declares a permission of the code */
  constructor(isPermission: (code: string) => boolean) {
    this.#isPermission = isPermission
  }

  handle<P>(type: TaskType<P>, handler: TaskHandler<P>): void {
    if (this.#byId.has(type.id)) throw asyncTaskError('PLINTH_ASYNC_TASK_TYPE_TAKEN', { type: type.id })
    const { readPermission: permission } = type
    if (permission !== undefined && !this.#isPermission(permission)) {
      throw asyncTaskError('PLINTH_ASYNC_TASK_PERMISSION', { type: type.id, permission })
    }
    const validator: Validator = Compile(type.params)
    this.#byId.set(type.id, { type, handler: handler as TaskHandler<unknown>, validator })
  }

  get ids(): readonly string[] {
    return [...this.#byId.keys()]
  }

  find(id: string): HandledType | undefined {
    return this.#byId.get(id)
  }

  /**
   * Parameters as JSON text, checked in the form in which the handler will see them.
   *
   * @throws PlinthError `PLINTH_ASYNC_TASK_TYPE_UNKNOWN`, `PLINTH_ASYNC_TASK_PARAMS`
   */
  encode(id: string, params: unknown): string {
    const handled = this.find(id)
    if (handled === undefined) throw asyncTaskError('PLINTH_ASYNC_TASK_TYPE_UNKNOWN', { type: id })
    const misfit = (reason: string, cause?: unknown) =>
      asyncTaskError('PLINTH_ASYNC_TASK_PARAMS', { type: id, reason }, cause)
    let text: string | undefined
    try {
      text = JSON.stringify(params)
    } catch (error) {
      throw misfit(reasonOf(error), error)
    }
    if (text === undefined) throw misfit('they are undefined')
    if (Buffer.byteLength(text) > largestParams) throw misfit('they are larger than 64 KiB')
    const decoded: unknown = JSON.parse(text)
    if (!handled.validator.Check(decoded)) {
      const [fault] = handled.validator.Errors(decoded)
      throw misfit(fault === undefined ? 'schema' : `${fault.instancePath || 'the whole'} ${fault.message}`)
    }
    return text
  }
}
