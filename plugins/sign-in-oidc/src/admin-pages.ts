export const pages = []
