import { createContext, useContext } from 'react'
import type { Operation, OwnPageView } from '../../api/page-types.ts'

/** Operations of the config centre that the user may call. The object stays the same, so the rows do not render again. */
export interface Centre {
  readonly operations: OwnPageView['operations']
  /** True if this user may save keys. */
  readonly maySave: boolean
  /** Operation that verifies a value with the plugin that owns the key; `undefined` if the user may not call it. */
  readonly verification: Operation | undefined
  readonly hasHistory: boolean
  /** Operations that find earlier values; `undefined` if the user may not call them. */
  readonly earlier: { readonly history: Operation; readonly rollback: Operation } | undefined
}

export const CentreContext = createContext<Centre | undefined>(undefined)

export function useCentre(): Centre {
  const centre = useContext(CentreContext)
  if (centre === undefined) throw new Error('useCentre needs a CentreContext around it')
  return centre
}
