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
}

/** Error of a write that was cancelled. It is never shown. */
class Cancelled extends Error {}

/**
 * Returns a write that the user can start and cancel. All writes of the back office use this hook. A write is aborted
 * when the component that uses the hook unmounts, and when this component starts the write with other input. The server
 * may already have executed an aborted write, so all displayed data is read again. After an abort, no handler is called.
 * While a write runs, another start with the same input, such as the second click of a double click, has no effect.
 * Input and result are not cached.
 *
 * @param write calls the server with the given signal and keys
 */
export function useWrite<Result, Input = void>(
  write: (signal: AbortSignal, input: Input, keys: PendingKeys) => Promise<Result>,
  { onSuccess, onError, onSettled, keys = {} }: WriteHandlers<Result, Input> = {},
): UseMutationResult<Result, Error, Input> {
  const client = useQueryClient()
  const running = useRef<AbortController>(undefined)
  /** Input of the running write, as JSON. */
  const started = useRef<string>(undefined)
  const { current: pending } = useRef(keys)
  useEffect(
    () => () => {
      if (running.current === undefined) return
      running.current.abort()
      void client.invalidateQueries()
    },
    [client],
  )
  const mutation = useMutation({
    async mutationFn(input: Input) {
      running.current?.abort()
      const own = new AbortController()
      running.current = own
      const result = await write(own.signal, input, pending).catch((error: unknown) => {
        throw own.signal.aborted ? new Cancelled() : error
      })
      if (own.signal.aborted) throw new Cancelled()
      return result
    },
    onSuccess: (result, input) => onSuccess?.(result, input),
    onError(error, input) {
      if (!(error instanceof Cancelled)) onError?.(error, input)
    },
    onSettled(_, error) {
      if (error instanceof Cancelled) return
      running.current = undefined
      started.current = undefined
      onSettled?.()
    },
    gcTime: 0,
  })
  const start = mutation.mutate
  const mutate = useCallback<typeof start>(
    (...args) => {
      const input = JSON.stringify(args.slice(0, 1))
      if (started.current === input) return
      started.current = input
      start(...args)
    },
    [start],
  )
  return { ...mutation, mutate }
}
