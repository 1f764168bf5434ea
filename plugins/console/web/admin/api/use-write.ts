import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import type { PendingKeys } from './call.ts'

interface WriteHandlers<Result, Input> {
  onSuccess?(result: Result, input: Input): void
  onError?(error: Error, input: Input): void
  /** Called after success and after an error. */
  onSettled?(): void
  /** Keys of the input that was restored. */
  readonly keys?: PendingKeys
  /** True if another write, such as that of another row, does not abort this one. */
  readonly isParallel?: boolean
}

/** Returns the input as JSON, by which running writes are compared. */
const nameOf = (input: unknown) => JSON.stringify([input])

/** Error of a write that was cancelled. It is never shown. */
class Cancelled extends Error {}

/**
 * Returns a write that the user can start and cancel. All writes of the back office use this hook. A write is aborted
 * when the component that uses the hook unmounts or calls `reset`, and, unless it is parallel, when this component starts
 * the write with other input. The server may already have executed an aborted write, so all displayed data is read again. After an
 * abort, no handler is called.
 * While a write runs, another start with the same input, such as the second click of a double click, has no effect.
 * Input and result are not cached.
 *
 * @param write calls the server with the given signal and keys
 */
export function useWrite<Result, Input = void>(
  write: (signal: AbortSignal, input: Input, keys: PendingKeys) => Promise<Result>,
  { onSuccess, onError, onSettled, keys = {}, isParallel = false }: WriteHandlers<Result, Input> = {},
): UseMutationResult<Result, Error, Input> {
  const client = useQueryClient()
  /** The running writes, by their input as JSON. */
  const { current: running } = useRef(new Map<string, AbortController>())
  const { current: pending } = useRef(keys)
  const abort = useCallback(() => {
    if (running.size === 0) return
    for (const one of running.values()) one.abort()
    running.clear()
    void client.invalidateQueries()
  }, [client, running])
  useEffect(() => abort, [abort])
  const mutation = useMutation({
    async mutationFn(input: Input) {
      const signal = running.get(nameOf(input))?.signal
      if (signal === undefined) throw new Cancelled()
      const result = await write(signal, input, pending).catch((error: unknown) => {
        throw signal.aborted ? new Cancelled() : error
      })
      if (signal.aborted) throw new Cancelled()
      return result
    },
    onSuccess: (result, input) => onSuccess?.(result, input),
    onError(error, input) {
      if (!(error instanceof Cancelled)) onError?.(error, input)
    },
    onSettled(_, error, input) {
      if (error instanceof Cancelled) return
      running.delete(nameOf(input))
      onSettled?.()
    },
    gcTime: 0,
  })
  const { mutate: start, reset: forget } = mutation
  const reset = useCallback(() => {
    abort()
    forget()
  }, [abort, forget])
  const mutate = useCallback<typeof start>(
    (...args) => {
      const input = nameOf(args[0])
      if (running.has(input)) return
      if (!isParallel) {
        for (const one of running.values()) one.abort()
        running.clear()
      }
      running.set(input, new AbortController())
      start(...args)
    },
    [start, running, isParallel],
  )
  return { ...mutation, mutate, reset }
}
