import { createStaticLabelSource, type LabelSource } from '@plinth/admin'
import { encodeJson } from '@plinth/events'
import { localize } from '@plinth/kernel'
import type { TaskHandler, TaskLane, TaskType } from './contract.ts'
import { asyncTaskError } from './declarations.ts'

/**
 * Returns the label source for the task types of this process. It needs no permission, because every user can have
 * tasks.
 */
export const typeLabels = (types: TaskTypes): LabelSource =>
  createStaticLabelSource((locale) =>
    types.ids.map((id) => ({ id, name: localize(types.find(id)?.type.displayName ?? id, locale) })),
  )

/** Maximum size of the parameters in bytes. */
const largestParams = 64 * 1024

interface HandledType {
  readonly type: TaskType
  readonly handler: TaskHandler<unknown>
}

export class TaskTypes {
  readonly #byId = new Map<string, HandledType>()
  readonly #isPermission: (code: string) => boolean

  /** @param isPermission returns true if a loaded plugin declares the permission */
  constructor(isPermission: (code: string) => boolean) {
    this.#isPermission = isPermission
  }

  handle<P>(type: TaskType<P>, handler: TaskHandler<P>): void {
    if (this.#byId.has(type.id)) throw asyncTaskError('PLINTH_ASYNC_TASK_TYPE_TAKEN', { type: type.id })
    const { readPermission: permission } = type
    if (permission !== undefined && !this.#isPermission(permission)) {
      throw asyncTaskError('PLINTH_ASYNC_TASK_PERMISSION', { type: type.id, permission })
    }
    this.#byId.set(type.id, { type, handler: handler as TaskHandler<unknown> })
  }

  get ids(): readonly string[] {
    return [...this.#byId.keys()]
  }

  /** Returns the ids of the types of a lane. */
  idsOf(lane: TaskLane): readonly string[] {
    return this.ids.filter((id) => this.laneOf(id) === lane)
  }

  laneOf(id: string): TaskLane {
    return this.find(id)?.type.lane ?? 'database'
  }

  find(id: string): HandledType | undefined {
    return this.#byId.get(id)
  }

  /**
   * Returns the parameters as JSON text that fits the schema.
   *
   * @throws PlinthError `PLINTH_ASYNC_TASK_TYPE_UNKNOWN`, `PLINTH_ASYNC_TASK_PARAMS`
   */
  encode(id: string, params: unknown): string {
    const handled = this.find(id)
    if (handled === undefined) throw asyncTaskError('PLINTH_ASYNC_TASK_TYPE_UNKNOWN', { type: id })
    return encodeJson(handled.type.params, params, largestParams, (reason, cause) =>
      asyncTaskError('PLINTH_ASYNC_TASK_PARAMS', { type: id, reason }, cause),
    )
  }
}
