/** Paths of the measured routes. All routes do the same work but have different access rules. */
export const paths = {
  public: '/api/v1/bench/articles',
  user: '/api/v1/bench/own-articles',
  permission: '/api/v1/admin/bench/articles',
} as const

export type RouteName = keyof typeof paths
